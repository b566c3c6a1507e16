/* Float functions held against double ones, in units of the last place. */
#ifndef TEQUIO_TESTS_UNIT_BACKEND_SUPPORT_ULPS_H
#define TEQUIO_TESTS_UNIT_BACKEND_SUPPORT_ULPS_H

/* f at 200000 places of [low, high] is within `limit` of want. */
void sweep(float (*f)(float), double (*want)(double), float low, float high, double limit);

/* |got - want| in units of the last place of the float nearest to want. */
double ulps(float got, double want);

#endif
