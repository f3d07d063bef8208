/* What programs of these tests have in common. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

/* Ends the program where something doesn't hold. */
#define HOLDS(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno);           \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)
