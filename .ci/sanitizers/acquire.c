/*
 * Arc drops with a Release decrement and an Acquire fence. ThreadSanitizer does not model fences, and
 * std's other spelling, for builds that instrument it, is out of reach here. So that a freed Arc is
 * not a race, this stands before the sanitizer's 64-bit fetch_sub and makes Release acquire as well.
 */
#include <stdint.h>

enum { RELEASE = 3, ACQUIRE_RELEASE = 4 };

uint64_t __real___tsan_atomic64_fetch_sub(volatile uint64_t *word, uint64_t by, int order);

uint64_t __wrap___tsan_atomic64_fetch_sub(volatile uint64_t *word, uint64_t by, int order)
{
    order = order == RELEASE ? ACQUIRE_RELEASE : order;
    return __real___tsan_atomic64_fetch_sub(word, by, order);
}
