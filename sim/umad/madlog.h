/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of MADs: a line for each one sent, received or timed out (format: ../README.md).
 *
 * On where the environment has HEDDLE_MAD_LOG=FILE; %p in FILE becomes the process id. Lines are
 * gathered in memory and appended to the file by a thread, one write each 20 ms at most, so that a
 * process that is killed loses no more than that. Thread-safe.
 */
#ifndef SIM_UMAD_MADLOG_H
#define SIM_UMAD_MADLOG_H

#include <stddef.h>
#include <stdint.h>

enum madlog_kind { MADLOG_TX, MADLOG_RX, MADLOG_TIMEOUT };

/* Start it, if the environment asks for it and it does not run yet. */
void madlog_start(void);

/* `lid`: of the destination where the MAD is ours, else of the source. A no-op while off. */
void madlog_add(enum madlog_kind kind, int64_t now_ns, const uint8_t *mad, uint16_t lid);

/* Write out what is gathered. */
void madlog_flush(void);

/* In the child of a fork: forget the parent's log. */
void madlog_forget(void);

enum { MADLOG_LINE_BYTES = 512 };

/* One line with its newline; returns its length. */
size_t madlog_format(char line[MADLOG_LINE_BYTES], enum madlog_kind kind, int64_t now_ns,
                     const uint8_t *mad, uint16_t lid);

#endif
