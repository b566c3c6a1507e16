/* See byte_level.h. */
#include "text/byte_level.h"

#include "text/chars.h"

/* Bytes that stand for themselves: 21..7E, A1..AC, AE..FF; the 68 others follow each other from U+0100. */
uint32_t byte_level_char(unsigned char byte)
{
    if (byte <= 0x20)
        return 0x100u + byte;
    if (byte >= 0x7F && byte <= 0xA0)
        return 0x121u + (byte - 0x7Fu);
    return byte == 0xAD ? 0x143 : byte;
}

int byte_level_byte(uint32_t code)
{
    if (code >= 0x100 && code <= 0x120)
        return (int)code - 0x100;
    if (code >= 0x121 && code <= 0x142)
        return (int)code - 0x121 + 0x7F;
    if (code == 0x143)
        return 0xAD;
    bool is_own = (code >= 0x21 && code <= 0x7E) || (code >= 0xA1 && code <= 0xFF);
    return is_own && code != 0xAD ? (int)code : -1;
}

void byte_level_rewrite(rewrite *w)
{
    run *out = w->out;
    run_reserve(out, 2 * (size_t)(w->of.end - w->at));
    for (; w->at < w->of.end; w->at++) {
        uint32_t n = (uint32_t)utf8_write(byte_level_char((unsigned char)w->in->text[w->at]),
                                          out->text + out->bytes);
        for (uint32_t i = 0; i < n; i++)
            out->from[out->bytes + i] = w->in->from[w->at];
        out->bytes += n;
    }
}
