"""Texts of names taken apart into persons, each a surname and given names.

Understood are "R. E. Schapire, Y. Singer", "Schapire, R. E., Singer, Y.", "Schapire, Robert", "Schapire R E"; persons
may be parted by semicolons too, and then a comma inside is that between surname and given names.
"""

import numpy as np

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, finish, step
from walkstep.features.texts import keys_of

MOST_PERSONS = 32
"""Of longer lists the rest counts as left out."""

_SPACE, _STOP, _COMMA, _SEMICOLON, _HYPHEN = 32, 46, 44, 59, 45
_PARTICLE_WORDS = "van von der den de del della di da dos das du la le ten ter zu zur bin ibn al el af"
_TITLE_WORDS = "jr sr ii iii iv phd dr prof mr mrs ms editor editors eds in by"
_PARTICLES, _TITLES = keys_of(_PARTICLE_WORDS.split()), keys_of(_TITLE_WORDS.split())
_ET, _AL, _OTHERS = keys_of(["et", "al", "others"])


@compiled(inline=True)
def _is_one_of(key, keys):
    for other in keys:
        if key == other:
            return True
    return False


@compiled(inline=True)
def _put_name(codes, start, end, items, at):
    """Write one name, hyphens left out; returns where the next thing goes."""
    first = at
    at += 1
    for k in range(start, end):
        if codes[k] != _HYPHEN:
            items[at] = codes[k]
            at += 1
    items[first] = at - first - 1
    return at


@compiled(inline=True)
def _put_given(codes, words, first, last, items, at):
    """Write the given names among the words ``first:last``, parted at hyphens; returns where the next thing goes."""
    count = at
    items[count] = 0
    at += 1
    for w in range(first, last):
        start = words[w, 0]
        for k in range(words[w, 0], words[w, 1] + 1):
            if k == words[w, 1] or codes[k] == _HYPHEN:
                if k > start:
                    at = _put_name(codes, start, k, items, at)
                    items[count] += 1
                start = k + 1
    return at


@compiled(inline=True)
def _put_person(codes, words, surname, surname_end, given, given_end, items, at):
    """Write a person of these words; returns where the next one goes."""
    size = at
    letters = at + 1
    at = letters + 1
    for w in range(surname, surname_end):
        for k in range(words[w, 0], words[w, 1]):
            if codes[k] != _HYPHEN:
                items[at] = codes[k]
                at += 1
    items[letters] = at - letters - 1
    at = _put_given(codes, words, given, given_end, items, at)
    items[size] = at - size - 1
    return at


@compiled(inline=True)
def _split(codes, start, end, words, parts):
    """Find words (start, end, is_particle) and parts (first word, whether its person ends there).

    Returns how many parts there are, and whether persons were left out.
    """
    n_words = n_parts = 0
    left_out = False
    after_et = False
    word = start
    state = SEED
    parts[0, 0] = 0
    for k in range(start, end + 1):
        c = codes[k] if k < end else np.int32(_SEMICOLON)
        ends_word = c in (_SPACE, _STOP, _COMMA, _SEMICOLON) or (c == _HYPHEN and k - word <= 1)
        if not ends_word:
            state = step(state, c)
            continue
        if k > word:
            key = finish(state)
            if (after_et and key == _AL) or key == _OTHERS:
                left_out = True
            elif key != _ET and not _is_one_of(key, _TITLES):
                words[n_words, 0] = word
                words[n_words, 1] = k
                words[n_words, 2] = _is_one_of(key, _PARTICLES)
                n_words += 1
            after_et = key == _ET
        word = k + 1
        state = SEED
        if c in (_COMMA, _SEMICOLON):
            if n_words > parts[n_parts, 0]:
                parts[n_parts, 1] = c == _SEMICOLON
                n_parts += 1
                parts[n_parts, 0] = n_words
            elif n_parts > 0 and c == _SEMICOLON:
                parts[n_parts - 1, 1] = 1
    return n_parts, left_out


@compiled(inline=True)
def _n_initials(words, first, last):
    n = 0
    for w in range(first, last):
        n += words[w, 1] - words[w, 0] == 1
    return n


@compiled(inline=True)
def _is_given_part(words, parts, p, n_parts):
    """Whether part ``p`` is a surname and the part after it the given names."""
    if p + 1 >= n_parts or parts[p, 1]:
        return False
    first, middle, last = parts[p, 0], parts[p + 1, 0], parts[p + 2, 0]
    if _n_initials(words, first, middle) > 0:
        return False
    n_next, n_initials_next = last - middle, _n_initials(words, middle, last)
    if n_initials_next == n_next:
        return True
    if middle - first == 1 and words[last - 1, 1] - words[last - 1, 0] == 1:
        return True
    is_pair = (p == 0 or parts[p - 1, 1]) and parts[p + 1, 1]
    return is_pair and (middle - first == 1 or n_next == 1)


@compiled
def name_rows(codes, ptr, texts):
    """The row of persons of each text asked for; see `name_likeness` for what a row holds."""
    longest = length = 0
    for t in texts:
        longest = max(longest, ptr[t + 1] - ptr[t])
        length += 4 * (ptr[t + 1] - ptr[t]) + 8
    words = np.empty((longest + 2, 3), np.int64)
    parts = np.empty((longest + 2, 2), np.int64)
    items = np.empty(length, np.int32)
    row_ptr = np.zeros(texts.size + 1, np.int64)
    at = 0
    for r in range(texts.size):
        n_parts, left_out = _split(codes, ptr[texts[r]], ptr[texts[r] + 1], words, parts)
        head = at
        at += 2
        n_persons = p = 0
        while p < n_parts and n_persons < MOST_PERSONS:
            first, last = parts[p, 0], parts[p + 1, 0]
            if _is_given_part(words, parts, p, n_parts):
                at = _put_person(codes, words, first, last, last, parts[p + 2, 0], items, at)
                p += 2
            else:
                at = _put_whole(codes, words, first, last, items, at)
                p += 1
            n_persons += 1
        if n_persons == 0:  # nothing but titles or "et al.": the whole text is the surname
            words[0, 0], words[0, 1] = ptr[texts[r]], ptr[texts[r] + 1]
            at = _put_person(codes, words, 0, 1, 1, 1, items, at)
            n_persons = 1
        items[head] = n_persons
        items[head + 1] = left_out or p < n_parts
        row_ptr[r + 1] = at
    return items[:at].copy(), row_ptr


@compiled(inline=True)
def _put_whole(codes, words, first, last, items, at):
    """Write a person whose surname stands last, or first where initials follow it."""
    n_initials = _n_initials(words, first, last)
    if 0 < n_initials < last - first and words[last - 1, 1] - words[last - 1, 0] == 1:
        surname_end = first
        while words[surname_end, 1] - words[surname_end, 0] > 1:
            surname_end += 1
        if surname_end > first:
            return _put_person(codes, words, first, surname_end, surname_end, last, items, at)
    surname = last - 1
    while surname > first and words[surname - 1, 2] and (surname - 1 > first or surname < last - 1):
        surname -= 1
    return _put_person(codes, words, surname, last, first, surname, items, at)
