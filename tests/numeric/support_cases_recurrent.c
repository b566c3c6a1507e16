/* LSTM, GRU and RNN. */
#include "numeric/support_cases_rows.h"

#define LENGTHS(...)                                                                               \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_STEPS, DT_I32                                                     \
    }
#define WAY(...) .attr = ATTR(recurrent_attr, __VA_ARGS__)

/* What every cell goes through; G gates. Then attributes that go with every row. */
#define CELL(ID, what, G, ...)                                                                     \
    CASE(ID, what "no more than needed", 3, IN(X(3, 2, 5), X(1, G * 4, 5), X(1, G * 4, 4)),        \
         WAY(__VA_ARGS__)),                                                                        \
        CASE(ID, what "one step of one example", 4,                                                \
             IN(X(1, 1, 2), X(1, G * 3, 2), X(1, G * 3, 3), X(1, G * 6)), WAY(__VA_ARGS__)),       \
        CASE(ID, what "reverse, a state to begin with", 6,                                         \
             IN(X(4, 3, 2), X(1, G * 17, 2), X(1, G * 17, 17), X(1, G * 34), ABSENT, X(1, 3, 17)), \
             WAY(.direction = RECURRENT_REVERSE, __VA_ARGS__)),                                    \
        CASE(ID, what "both ways, lengths", 6,                                                     \
             IN(X(5, 4, 3), X(2, G * 6, 3), X(2, G * 6, 6), X(2, G * 12), LENGTHS(4), X(2, 4, 6)), \
             WAY(.direction = RECURRENT_BOTH, __VA_ARGS__)),                                       \
        CASE(ID, what "many examples", 4,                                                          \
             IN(X(3, 70, 9), X(1, G * 40, 9), X(1, G * 40, 40), X(1, G * 80)), WAY(__VA_ARGS__))

static const op_case rows[] = {
    CELL(LSTM, "", 4, .hidden = 0),
    CASE(LSTM, "peepholes, both ways, all operands", 8,
         IN(X(4, 3, 2), X(2, 20, 2), X(2, 20, 5), X(2, 40), LENGTHS(3), X(2, 3, 5), X(2, 3, 5),
            X(2, 15)),
         WAY(.hidden = 5, .direction = RECURRENT_BOTH)),
    CASE(LSTM, "peepholes without a bias", 8,
         IN(X(4, 2, 3), X(1, 12, 3), X(1, 12, 3), ABSENT, ABSENT, ABSENT, ABSENT, X(1, 9)),
         WAY(.hidden = 3)),
    CELL(GRU, "", 3, .hidden = 0),
    CELL(GRU, "linear before reset, ", 3, .linear_before_reset = true),
    CELL(RNN, "", 1, .hidden = 0),
    CELL(RNN, "relu, ", 1, .relu = true),
};

const case_table cases_recurrent = {rows, sizeof rows / sizeof *rows};
