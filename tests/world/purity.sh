#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# purity.sh LIBRARY..: fails when a pure library refers to a clock, a socket, a random source, a
# thread or the disk. Libraries that such a library uses are not looked into: their names are.
set -eu

forbidden='clock_gettime|clock|time|gettimeofday|ftime|timespec_get|nanosleep|usleep|sleep|alarm'
forbidden="$forbidden|timer_create|timerfd_create|setitimer"
forbidden="$forbidden|rand|rand_r|srand|random|srandom|drand48|lrand48|getrandom|getentropy|arc4random"
forbidden="$forbidden|randombytes_[a-z_]*|g_random_[a-z_]*|g_rand_[a-z_]*"
forbidden="$forbidden|socket|socketpair|connect|bind|listen|accept|accept4|send|sendto|sendmsg|recv"
forbidden="$forbidden|recvfrom|recvmsg|poll|ppoll|select|epoll_[a-z]*|zmq_[a-z_]*|umad_[a-z_]*"
forbidden="$forbidden|open|open64|openat|creat|fopen|fopen64|fdopen|read|write|pread|pwrite|unlink|rename"
forbidden="$forbidden|mkdir|opendir|mdb_[a-z_]*|g_file_[a-z_]*"
forbidden="$forbidden|fork|vfork|execve|system|popen|getenv|secure_getenv|g_getenv"
forbidden="$forbidden|pthread_create|thrd_create|g_thread_[a-z_]*|g_main_[a-z_]*|g_timeout_[a-z_]*"
forbidden="$forbidden|g_get_real_time|g_get_monotonic_time|g_date_time_new_now[a-z_]*|g_usleep|g_timer_[a-z_]*"
forbidden="$forbidden|printf|puts|putchar|syslog|log_emit|log_vemit|log_open"

[ $# -gt 0 ] || { echo "usage: purity.sh LIBRARY.." >&2; exit 2; }
status=0
for library in "$@"; do
    [ -r "$library" ] || { echo "purity: cannot read $library" >&2; exit 2; }
    # nm prints "object.o:" and then "U name"; keep the object for the message.
    found=$(nm --undefined-only "$library" 2>/dev/null | awk -v names="^($forbidden)$" '
        /:$/ { object = $0 }
        $1 == "U" { name = $2; sub(/@.*/, "", name); if (name ~ names) print "  " object " " name }')
    if [ -n "$found" ]; then
        echo "$library is not pure:"
        echo "$found"
        status=1
    else
        echo "$library is pure"
    fi
done
exit $status
