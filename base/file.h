/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at a file before it is opened: opening a FIFO waits for a writer, reading a device may
 * never end. Where people name the file, that is a mistake to tell, not to wait for. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether path (symbolic links followed) is a regular file. Else errno says why, and text what
 * a person is told: the error of the system, or what the thing is. */
bool file_is_regular(const char *path, char *text, size_t text_size);

#endif
