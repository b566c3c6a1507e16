/*
 * What a step of LSTM, GRU and RNN does to one element of the state, and its gradients. Activations
 * are ONNX's defaults; RNN may have relu. Pure functions.
 */
#ifndef TEQUIO_BACKEND_RECURRENT_MATH_H
#define TEQUIO_BACKEND_RECURRENT_MATH_H

#include "backend/math.h"

#include <stdbool.h>

/* Gates of LSTM, in ONNX's order; peepholes have no candidate. */
typedef struct lstm_gates {
    float i, o, f, candidate;
} lstm_gates;

/* Returns h. The gates: before their activations, then after them; *cell: before the step, then
 * after it. */
INLINE float lstm_forward(lstm_gates *g, lstm_gates peep, float *cell)
{
    float before = *cell;
    g->i = vec_sigmoid(g->i + peep.i * before);
    g->f = vec_sigmoid(g->f + peep.f * before);
    g->candidate = vec_tanh(g->candidate);
    *cell = g->f * before + g->i * g->candidate;
    g->o = vec_sigmoid(g->o + peep.o * *cell);
    return g->o * vec_tanh(*cell);
}

/* Returns the gradients of the gates before their activations. *dc: of the cell after the step,
 * then before it. */
INLINE lstm_gates lstm_backward(lstm_gates g, lstm_gates peep, float dh, float *dc, float before,
                                float cell)
{
    float th = vec_tanh(cell);
    float gradient_o = dh * th * (g.o * (1.0f - g.o));
    float gradient_c = *dc + dh * g.o * (1.0f - th * th) + gradient_o * peep.o;
    float gradient_i = gradient_c * g.candidate * (g.i * (1.0f - g.i));
    float gradient_f = gradient_c * before * (g.f * (1.0f - g.f));
    lstm_gates ret = {gradient_i, gradient_o, gradient_f,
                      gradient_c * g.i * (1.0f - g.candidate * g.candidate)};
    *dc = gradient_c * g.f + gradient_i * peep.i + gradient_f * peep.f;
    return ret;
}

INLINE float rnn_forward(float gate, bool relu)
{
    return relu ? (gate < 0.0f ? 0.0f : gate) : vec_tanh(gate);
}

/* dh to the gradient of the gate, by what came out. */
INLINE float rnn_backward(float dh, float y, bool relu)
{
    return relu ? (y <= 0.0f ? 0.0f : dh) : dh * (1.0f - y * y);
}

/* GRU: z, r after their activations. */
typedef struct gru_gates {
    float z, r, candidate;
} gru_gates;

/* Returns h from the state before; `inner`: its product with R_h, which the reset multiplies here
 * if it is `linear`. The candidate: before its activation, then after it. */
INLINE float gru_forward(gru_gates *g, float inner, float before, bool linear)
{
    g->candidate = vec_tanh(g->candidate + (linear ? g->r : 1.0f) * inner);
    return g->candidate + g->z * (before - g->candidate);
}

/* Gradients of the gates before their activations and of `inner`. r's waits for that of what R_h
 * multiplied, unless it is `linear`. */
INLINE gru_gates gru_backward(gru_gates g, float dh, float inner, float before, bool linear,
                              float *ret_dinner)
{
    gru_gates d;
    d.z = dh * (before - g.candidate) * (g.z * (1.0f - g.z));
    d.candidate = dh * (1.0f - g.z) * (1.0f - g.candidate * g.candidate);
    d.r = linear ? d.candidate * inner * (g.r * (1.0f - g.r)) : 0.0f;
    *ret_dinner = linear ? d.candidate * g.r : d.candidate;
    return d;
}

/* r's then; `through`: the gradient of r times the state before. */
INLINE float gru_backward_reset(float r, float through, float before)
{
    return through * before * (r * (1.0f - r));
}

#endif
