/*
 * Says by how many thousand counts the processor's time stamp counter goes on in a second, against the clock that nobody
 * sets.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

enum { TIMES = 5, LOOKS = 20 };

struct moment {
    uint64_t count, nanoseconds;
};

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Of some looks at both the quickest: between the two of another, somebody else may have had the processor. */
static struct moment look(void)
{
    struct moment best = {0, 0};
    uint64_t quickest = UINT64_MAX;
    for (int i = 0; i < LOOKS; i++) {
        uint64_t before = now(), count = __rdtsc(), took = now() - before;
        if (took < quickest) {
            quickest = took;
            best = (struct moment){count, before + took / 2};
        }
    }
    return best;
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

int main(void)
{
    uint64_t found[TIMES];
    for (int i = 0; i < TIMES; i++) {
        struct moment first = look();
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        struct moment last = look();
        found[i] = (uint64_t)((double)(last.count - first.count) * 1e6 / (double)(last.nanoseconds - first.nanoseconds));
    }
    qsort(found, TIMES, sizeof *found, compare);
    printf("%llu\n", (unsigned long long)found[TIMES / 2]);
}
