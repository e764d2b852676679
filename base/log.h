/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines of the daemons: one event each, key=value.
 *
 * A line is `level=warning event=lid_conflict lid=12 msg="..."`. The event name is a stable word
 * for machines; the rest are pairs. Strings that come from outside (node descriptions above all)
 * pass through log_quote(). Output goes to stderr, or to the journal when stderr is connected to
 * it ($JOURNAL_STREAM), with the pairs as fields. The default level is LOG_NOTICE, at which a
 * healthy fabric is quiet.
 *
 * Threads: log_emit() may be called from any; a line is written with one write(2).
 * The pure cores never call this: they return log actions, which the shells emit. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Values are syslog's. */
enum log_level {
    HL_ERROR = 3,
    HL_WARNING = 4,
    HL_NOTICE = 5,
    HL_INFO = 6,
    HL_DEBUG = 7,
};

/* Lines above max_level are dropped; identity is shown as daemon=NAME in each line. */
void log_open(const char *identity, enum log_level max_level);
bool log_wanted(enum log_level level);
/* pairs: printf format of the key=value pairs after the event, e.g. "lid=%u guid=0x%016lx". */
void log_emit(enum log_level level, const char *event, const char *pairs, ...)
    __attribute__((format(printf, 3, 4)));
void log_vemit(enum log_level level, const char *event, const char *pairs, va_list ap)
    __attribute__((format(printf, 3, 0)));
/* "error", "warning", "notice", "info", "debug" -> level; false if text is none of them. */
bool log_level_parse(const char *text, enum log_level *level);
/* Writes text in double quotes with control characters, quotes, backslashes and invalid UTF-8
 * escaped; always terminates; cuts to size. Returns out. */
const char *log_quote(char *out, size_t size, const char *text);

#endif
