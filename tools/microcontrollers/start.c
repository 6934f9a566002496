/* A Cortex-M from reset to main() and out again, with the output through semihosting of qemu. */
#include <stdint.h>

extern uint32_t data_begin, data_end, data_stored, bss_begin, bss_end, stack_top;
int main(void);
void reset(void);
void print(const char *text);

static uint32_t host(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void print(const char *text) { host(0x04, text); } /* SYS_WRITE0 */

static void leave(uint32_t code) {
    const uint32_t block[2] = {0x20026, code}; /* ADP_Stopped_ApplicationExit */
    host(0x20, block);                         /* SYS_EXIT_EXTENDED */
    for (;;) {
    }
}

static void fault(void) { leave(99); }

__attribute__((section(".vectors"), used)) void (*const vectors[16])(void) = {
    (void (*)(void))&stack_top, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0,
    fault, fault, 0, fault, fault};

void reset(void) {
    uint32_t *to, *from = &data_stored;
#if defined(__ARM_FP) && __ARM_FP
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* the floating-point unit is on */
    __asm__ volatile("dsb\n isb");
#endif
    for (to = &data_begin; to < &data_end;) *to++ = *from++;
    for (to = &bss_begin; to < &bss_end;) *to++ = 0;
    leave((uint32_t)main());
}
