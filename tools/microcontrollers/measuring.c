/* Each row through the model: its class, the ticks of SysTick, and the bytes of stack it took.

   The stack below main() is painted before a row, and read back after it. What is printed are
   hexadecimal digits, so that no function of libgcc is here that a model might need as well. */
#include "measured.h"

enum { PAINTED = 1 << 14 }; /* words */
#define SYSTICK ((volatile uint32_t *)0xE000E010)
#define COLOUR 0xA5A5A5A5u

extern const row_t rows[ROWS * COLUMNS];
void print(const char *text);

static void print_number(uint32_t value) {
    char text[10];
    int i;
    for (i = 0; i < 8; ++i) {
        const uint32_t digit = value >> (28 - 4 * i) & 15;
        text[i] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
    text[8] = '\n';
    text[9] = 0;
    print(text);
}

int main(void) {
    int i, k;
    SYSTICK[1] = 0xFFFFFF;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5; /* on, with the clock of the processor */
    for (i = 0; i < ROWS; ++i) {
        volatile uint32_t *top, *low;
        uint32_t before, after;
        int predicted;
        __asm__ volatile("mov %0, sp" : "=r"(top));
        low = top - PAINTED;
        for (k = 0; k < PAINTED; ++k) low[k] = COLOUR;
        SYSTICK[2] = 0;
        before = SYSTICK[2];
        predicted = model_class(rows + i * COLUMNS);
        after = SYSTICK[2];
        while (*low == COLOUR && low < top) ++low;
        print_number((uint32_t)predicted);
        print_number((before - after) & 0xFFFFFF);
        print_number((uint32_t)((top - low) * 4));
    }
    return 0;
}
