"""Loops that turn symbols of rows into feature rows of tokens.

A *row* stands for whatever fixes a property's values: a distinct word, a distinct column entry, a token,
or a place beyond a sentence's edge. Rows hold symbols, and each feature maps symbols to feature numbers.
"""

import numpy as np

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import mix


@compiled
def shift_rows(row_of_token, sentence_ptr, offset, n_rows):
    """The row of the token ``offset`` positions away; beyond the sentence by d, row ``n_rows + d - 1``."""
    shifted = np.empty_like(row_of_token)
    for s in range(sentence_ptr.size - 1):
        begin, end = sentence_ptr[s], sentence_ptr[s + 1]
        for i in range(begin, end):
            j = i + offset
            if j < begin:
                shifted[i] = n_rows + begin - j - 1
            elif j >= end:
                shifted[i] = n_rows + j - end
            else:
                shifted[i] = row_of_token[j]
    return shifted


@compiled
def count_rows(row_of_token, sentence_ptr, offset, count):
    """Turn each row's count of tokens into that of tokens which have it ``offset`` positions away.

    All but the tokens at the sentences' far ends are seen from somewhere; ``count`` has room for the places
    beyond at its end.
    """
    reach = abs(offset)
    n_rows = count.size - reach
    for s in range(sentence_ptr.size - 1):
        begin, end = sentence_ptr[s], sentence_ptr[s + 1]
        for k in range(min(reach, end - begin)):
            count[row_of_token[end - 1 - k if offset < 0 else begin + k]] -= 1
            count[n_rows + reach - k - 1] += 1


@compiled
def count_symbols(ptr, symbol, weight, n_symbols):
    """How often each symbol occurs, a row's ``weight`` being how often the row occurs."""
    count = np.zeros(n_symbols, np.int64)
    for r in range(weight.size):
        for k in range(ptr[r], ptr[r + 1]):
            count[symbol[k]] += weight[r]
    return count


@compiled
def count_windows(row_of_token, sentence_ptr, first, last, ptr, symbol, n_symbols):
    """In how many tokens' windows each symbol occurs."""
    count = np.zeros(n_symbols, np.int64)
    seen_by = np.full(n_symbols, -1, np.int64)
    for s in range(sentence_ptr.size - 1):
        begin, end = sentence_ptr[s], sentence_ptr[s + 1]
        for i in range(begin, end):
            for j in range(max(begin, i + first), min(end, i + last + 1)):
                row = row_of_token[j]
                for k in range(ptr[row], ptr[row + 1]):
                    if seen_by[symbol[k]] != i:
                        seen_by[symbol[k]] = i
                        count[symbol[k]] += 1
    return count


@compiled
def mix_rows(keys, row_of_token, hash_of_row):
    """Mix the hash of each token's row into its key, in place: ``extend_keys`` where every row has one symbol."""
    for i in range(keys.size):
        keys[i] = mix(keys[i], hash_of_row[row_of_token[i]])


@compiled
def extend_keys(key_ptr, keys, row_of_token, ptr, symbol, hash_of_symbol):
    """The keys of all combinations of a token's keys and its row's symbols, the symbols running fastest."""
    n = row_of_token.size
    out_ptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        row = row_of_token[i]
        out_ptr[i + 1] = out_ptr[i] + (key_ptr[i + 1] - key_ptr[i]) * (ptr[row + 1] - ptr[row])
    out = np.empty(out_ptr[n], np.uint64)
    at = 0
    for i in range(n):
        row = row_of_token[i]
        for a in range(key_ptr[i], key_ptr[i + 1]):
            for k in range(ptr[row], ptr[row + 1]):
                out[at] = mix(keys[a], hash_of_symbol[symbol[k]])
                at += 1
    return out_ptr, out


@compiled
def fill_rows(ptr, symbol, feature_of_symbol, place, span, out):
    """Add the features of each row to those at its place, from ``span[row, place, 0]`` to ``span[row, place, 1]``."""
    for r in range(ptr.size - 1):
        at = span[r, place, 1]
        for k in range(ptr[r], ptr[r + 1]):
            feature = feature_of_symbol[symbol[k]]
            if feature >= 0:
                out[at] = feature
                at += 1
        span[r, place, 1] = at


@compiled
def gather_rows(
    sentence_ptr,
    rows,
    groups,
    bags,
    span,
    row_feature,
    seen,
    may_collide,
    begin_sentence,
    ptr,
    out,
):
    """All features of every token, those of bags (or, on request, all) without repetitions.

    ``rows[layer, i]`` is token ``i``'s row in a layer. A group is (layer, offset, number of rows without those
    beyond sentences, base, stride): the features of row ``r`` are ``row_feature[a:z]`` with ``a, z`` the span
    ``base + stride * r``. A bag is (layer, first, last, base, stride). ``seen`` holds one cleared bit a feature.
    Begins at a sentence whose ``ptr`` is set, and gives back the first sentence that did not fit any more.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for s in range(begin_sentence, sentence_ptr.size - 1):
        begin, end = sentence_ptr[s], sentence_ptr[s + 1]
        at = ptr[begin]
        for i in range(begin, end):
            start = at
            for g in range(groups.shape[0]):
                n_rows, base, stride = groups[g, 2], groups[g, 3], groups[g, 4]
                j = i + groups[g, 1]
                if j < begin:
                    r = n_rows + begin - j - 1
                elif j >= end:
                    r = n_rows + j - end
                else:
                    r = np.int64(rows[groups[g, 0], j])
                r = base + stride * r
                a, z = span[r, 0], span[r, 1]
                if at + z - a > out.size:
                    return s
                for k in range(a, z):
                    out[at] = row_feature[k]
                    at += 1
            for b in range(bags.shape[0]):
                layer, base, stride = bags[b, 0], bags[b, 3], bags[b, 4]
                bag_start = at
                is_full = False
                for j in range(max(begin, i + bags[b, 1]), min(end, i + bags[b, 2] + 1)):
                    r = base + stride * rows[layer, j]
                    a, z = span[r, 0], span[r, 1]
                    if at + z - a > out.size:
                        is_full = True
                        break
                    for k in range(a, z):
                        feature = np.uint64(row_feature[k])
                        word, bit = feature >> six, one << (feature & low)
                        if seen[word] & bit == 0:
                            seen[word] |= bit
                            out[at] = row_feature[k]
                            at += 1
                for k in range(bag_start, at):
                    seen[np.uint64(out[k]) >> six] = 0
                if is_full:
                    return s
            if may_collide:
                n_found = at
                at = start
                for k in range(start, n_found):
                    feature = np.uint64(out[k])
                    word, bit = feature >> six, one << (feature & low)
                    if seen[word] & bit == 0:
                        seen[word] |= bit
                        out[at] = out[k]
                        at += 1
                for k in range(start, at):
                    seen[np.uint64(out[k]) >> six] = 0
            ptr[i + 1] = at
    return sentence_ptr.size - 1
