"""The order in which batch_sampler `bucket` takes examples, written out again from docs/DATA.md and Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3" (SC'11): Philox4x32-10, and a Feistel network for permutations."""

WORD, LONG = 2 ** 32 - 1, 2 ** 64 - 1
SHUFFLE, BUCKET = 2, 10                     # purposes of random numbers


def mix(a, b):
    """splitmix64's finaliser over two words."""
    z = (a + 0x9e3779b97f4a7c15 * (b + 1)) & LONG
    z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & LONG
    z = ((z ^ z >> 27) * 0x94d049bb133111eb) & LONG
    return z ^ z >> 31


def philox(seed, purpose, stream, block):
    """Four words: those of this block of the stream."""
    key = mix(seed, purpose)
    k = [key & WORD, key >> 32]
    c = [block & WORD, block >> 32, stream & WORD, stream >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & WORD, a >> 32 ^ c[3] ^ k[1], a & WORD]
        k = [k[0] + 0x9E3779B9 & WORD, k[1] + 0xBB67AE85 & WORD]
    return c


def uniform(seed, purpose, stream, element):
    return (philox(seed, purpose, stream, element // 4)[element % 4] >> 8) / 2 ** 24


def permuted(seed, epoch, n):
    """The permutation of 0 .. n-1 that belongs to an epoch."""
    bits = (n - 1).bit_length()
    keys = philox(seed, SHUFFLE, epoch, 0)

    def scramble(x):
        left_bits, right_bits = bits // 2, bits - bits // 2
        left, right = x >> right_bits, x & (1 << right_bits) - 1
        for key in keys:
            left, right = right, left ^ mix(key, right) & (1 << left_bits) - 1
            left_bits, right_bits = right_bits, left_bits
        return left << right_bits | right

    def place(x):
        x = scramble(x)
        while x >= n:
            x = scramble(x)
        return x

    return [place(x) for x in range(n)]


def batches_of_epoch(lengths, batch_size, seed, epoch, padding_noise=0.1):
    """Lists of examples: sorted by length with noise, cut, and the whole batches shuffled; what is left comes last."""
    noisy = [(n * (1 + padding_noise * (uniform(seed, BUCKET, epoch, i) * 2 - 1)), i) for i, n in enumerate(lengths)]
    order = [i for _, i in sorted(noisy)]
    batches = [order[i:i + batch_size] for i in range(0, len(order), batch_size)]
    whole = len(order) // batch_size
    return [batches[i] for i in permuted(seed, epoch, whole)] + batches[whole:]
