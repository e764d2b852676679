/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines of the daemons: key=value to stderr or the journal. */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <glib.h>

static char identity_text[64] = "heddle";
static enum log_level level_max = HL_NOTICE;
static bool to_journal;

static const struct {
    const char *name;
    enum log_level level;
} level_names[] = {
    {"error", HL_ERROR}, {"warning", HL_WARNING}, {"notice", HL_NOTICE},
    {"info", HL_INFO},   {"debug", HL_DEBUG},
};

bool log_level_parse(const char *text, enum log_level *level)
{
    for (size_t i = 0; i < G_N_ELEMENTS(level_names); i++) {
        if (strcmp(text, level_names[i].name) == 0) {
            *level = level_names[i].level;
            return true;
        }
    }
    return false;
}

static const char *level_name(enum log_level level)
{
    for (size_t i = 0; i < G_N_ELEMENTS(level_names); i++) {
        if (level_names[i].level == level)
            return level_names[i].name;
    }
    return "error";
}

/* systemd sets JOURNAL_STREAM=device:inode of the stream that it connected stderr to. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    unsigned long long dev, ino;
    if (!stream || sscanf(stream, "%llu:%llu", &dev, &ino) != 2 || fstat(STDERR_FILENO, &st) != 0)
        return false;
    return dev == (unsigned long long)st.st_dev && ino == (unsigned long long)st.st_ino;
}

void log_open(const char *identity, enum log_level max_level)
{
    g_strlcpy(identity_text, identity, sizeof identity_text);
    level_max = max_level;
    to_journal = stderr_is_journal();
}

bool log_wanted(enum log_level level)
{
    return level <= level_max;
}

void log_vemit(enum log_level level, const char *event, const char *pairs, va_list ap)
{
    if (!log_wanted(level))
        return;
    char text[2048];
    if (vsnprintf(text, sizeof text, pairs, ap) < 0)
        text[0] = '\0';
    if (to_journal) {
        sd_journal_send("MESSAGE=event=%s%s%s", event, text[0] ? " " : "", text, "PRIORITY=%d",
                        (int)level, "HEDDLE_EVENT=%s", event, "HEDDLE_DAEMON=%s", identity_text,
                        NULL);
        return;
    }
    char line[2304];
    gint64 now_us = g_get_real_time();
    int n = snprintf(line, sizeof line, "ts=%lld.%06d level=%s daemon=%s event=%s%s%s\n",
                     (long long)(now_us / G_USEC_PER_SEC), (int)(now_us % G_USEC_PER_SEC),
                     level_name(level), identity_text, event, text[0] ? " " : "", text);
    if (n <= 0)
        return;
    if ((size_t)n >= sizeof line) {
        n = sizeof line - 1;
        line[n - 1] = '\n';
    }
    /* A log that cannot be written must not stop a daemon. */
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return;
}

void log_emit(enum log_level level, const char *event, const char *pairs, ...)
{
    va_list ap;
    va_start(ap, pairs);
    log_vemit(level, event, pairs, ap);
    va_end(ap);
}

const char *log_quote(char *out, size_t size, const char *text)
{
    if (size < 3) {
        if (size)
            out[0] = '\0';
        return out;
    }
    size_t o = 0;
    out[o++] = '"';
    const unsigned char *p = (const unsigned char *)text;
    bool utf8 = g_utf8_validate(text, -1, NULL);
    for (; *p; p++) {
        char piece[5];
        if (*p == '"' || *p == '\\')
            snprintf(piece, sizeof piece, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f || (*p >= 0x80 && !utf8))
            snprintf(piece, sizeof piece, "\\x%02x", *p);
        else
            snprintf(piece, sizeof piece, "%c", *p);
        size_t len = strlen(piece);
        if (o + len + 2 > size)
            break;
        memcpy(out + o, piece, len);
        o += len;
    }
    out[o++] = '"';
    out[o] = '\0';
    return out;
}
