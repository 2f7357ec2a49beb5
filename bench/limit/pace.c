// Requests at a steady rate, one at a time: what a server costs when each request wakes it, however many threads it has.
//
// Load generators that wait by their own clock's ticks send what became due together, and a server of one thread gets
// such a bundle with one wake-up, one of two threads with two; that would be compared, and not the servers.
//
//   pace PORT RATE SECONDS CONNECTIONS PATHS      asks for /e1 ... /ePATHS at random, at most RATE times a second; prints
//                                                 how many answers came
//
// The answers are small and have a Content-Length; of each only the length is read.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 16384 };

struct conn {
    int fd, busy;
    size_t have;
    char in[ROOM];
};

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

// Whether a whole answer is here.
static int whole(struct conn *c) {
    char *end = memmem(c->in, c->have, "\r\n\r\n", 4);
    if (!end)
        return 0;
    *end = 0;
    char *field = strcasestr(c->in, "\r\ncontent-length:");
    *end = '\r';
    if (!field || strncmp(c->in, "HTTP/1.1 200", 12)) {
        fprintf(stderr, "pace: not an answer to count: %.200s\n", c->in);
        exit(1);
    }
    return c->have >= (size_t)(end + 4 - c->in) + strtoul(field + 17, NULL, 10);
}

static long take(struct conn *c) {
    for (;;) {
        ssize_t n = read(c->fd, c->in + c->have, ROOM - 1 - c->have);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            die("pace: read");
        c->have += n;
        c->in[c->have] = 0;
        if (whole(c)) {
            c->have = c->busy = 0;
            return 1;
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: pace PORT RATE SECONDS CONNECTIONS PATHS\n");
        return 2;
    }
    int port = atoi(argv[1]), count = atoi(argv[4]), paths = atoi(argv[5]);
    double rate = atof(argv[2]), seconds = atof(argv[3]);
    if (count < 1 || paths < 1 || rate <= 0)
        return 2;
    prctl(PR_SET_TIMERSLACK, 1UL);
    struct conn *all = calloc(count, sizeof *all);
    int poll = epoll_create1(0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < count; i++) {
        int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to))
            die("pace: connect");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e);
        all[i].fd = fd;
    }
    long answers = 0;
    long long due = now_ns(), end = due + (long long)(seconds * 1e9);
    for (int next = 0; due < end;) {
        struct timespec at = {due / 1000000000LL, due % 1000000000LL};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
            ;
        struct epoll_event events[64];
        int n = epoll_wait(poll, events, 64, 0);
        for (int i = 0; i < n; i++)
            answers += take(events[i].data.ptr);
        for (int tries = 0; all[next].busy && tries < count; tries++)
            next = (next + 1) % count;
        if (all[next].busy) {
            if (epoll_wait(poll, events, 1, 5000) != 1)
                die("pace: no answer for five seconds");
            answers += take(events[0].data.ptr);
            due = now_ns();
            continue;
        }
        char request[128];
        int len = snprintf(request, sizeof request, "GET /e%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 1 + rand() % paths);
        if (write(all[next].fd, request, len) != len)
            die("pace: write");
        all[next].busy = 1;
        next = (next + 1) % count;
        // Counted from here: who is late does not hurry, or two would be sent together.
        due = now_ns() + (long long)(1e9 / rate);
    }
    printf("%ld\n", answers);
}
