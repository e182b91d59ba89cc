"""Loops over the sentences and documents of a corpus."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, mix, slot_of


@compiled
def mark_positions(sentence_ptr, type_of_token, any_of, upper, lower):
    """Bits of each token: 1 first of its sentence, 2 last, 4 sentence all in capitals."""
    bits = np.zeros(type_of_token.size, np.int32)
    for s in range(sentence_ptr.size - 1):
        begin, end = sentence_ptr[s], sentence_ptr[s + 1]
        if begin == end:
            continue
        classes = np.uint8(0)
        for i in range(begin, end):
            classes |= any_of[type_of_token[i]]
        if (classes & upper) != 0 and (classes & lower) == 0:
            for i in range(begin, end):
                bits[i] = 4
        bits[begin] |= 1
        bits[end - 1] |= 2
    return bits


@compiled
def link_occurrences(word_of_token, n_words, document_start):
    """The occurrences of a word in a document before and after each token, -1 for none; and which word it is.

    The third array numbers the pairs of a document and a word.
    """
    n = word_of_token.size
    before = np.full(n, -1, np.int32)
    after = np.full(n, -1, np.int32)
    pair = np.empty(n, np.int32)
    last = np.full(n_words, -1, np.int64)
    n_pairs = 0
    for d in range(document_start.size - 1):
        for i in range(document_start[d], document_start[d + 1]):
            word = word_of_token[i]
            j = last[word]
            if j >= document_start[d]:
                before[i] = j
                after[j] = i
                pair[i] = pair[j]
            else:
                pair[i] = n_pairs
                n_pairs += 1
            last[word] = i
    return before, after, pair, n_pairs


@compiled
def gather_occurrences(value, asks, before, after, reach):
    """Distinct values of the ``reach`` nearest occurrences on either side, for each token that asks.

    ``value`` has one row a source and one column a token, -1 for none.
    """
    n = asks.size
    n_sources = value.shape[0]
    ptr = np.zeros(n + 1, np.int64)
    out = np.empty(n + 2 * reach * n_sources, np.int32)
    at = 0
    for i in range(n):
        begin = at
        if asks[i]:
            if at + 2 * reach * n_sources > out.size:
                grown = np.empty(2 * out.size, np.int32)
                for k in range(at):
                    grown[k] = out[k]
                out = grown
            for side in range(2):
                j = before[i] if side == 0 else after[i]
                for _ in range(reach):
                    if j < 0:
                        break
                    for source in range(n_sources):
                        found = value[source, j]
                        if found >= 0:
                            k = begin
                            while k < at and out[k] != found:
                                k += 1
                            if k == at:
                                out[at] = found
                                at += 1
                    j = before[j] if side == 0 else after[j]
        ptr[i + 1] = at
    return ptr, out[:at].copy()


@compiled
def match_phrases(sentence_ptr, type_of_token, key_of_type, table, is_phrase):
    """Longest phrases from left to right: 0 outside, 1 begin, 2 inside, 3 last, 4 a phrase of one word."""
    place = np.zeros(type_of_token.size, np.int32)
    mask = np.uint64(table.size // 2 - 1)
    one = np.uint64(1)
    for s in range(sentence_ptr.size - 1):
        i = sentence_ptr[s]
        while i < sentence_ptr[s + 1]:
            state = SEED
            end = i
            for j in range(i, sentence_ptr[s + 1]):
                state = mix(state, key_of_type[type_of_token[j]])
                held = np.int64(table[(slot_of(table, mask, state) << one) + one])
                if held == 0:
                    break
                if is_phrase[held - 1]:
                    end = j + 1
            if end == i:
                i += 1
                continue
            for j in range(i, end):
                place[j] = 2
            place[i] = 1
            place[end - 1] = 3 if end - i > 1 else 4
            i = end
    return place


@compiled
def phrase_states(word_key, phrase_ptr):
    """The key of each phrase's first word, first two words, and so on."""
    states = np.empty(word_key.size, np.uint64)
    for p in range(phrase_ptr.size - 1):
        state = SEED
        for k in range(phrase_ptr[p], phrase_ptr[p + 1]):
            state = mix(state, word_key[k])
            states[k] = state
    return states
