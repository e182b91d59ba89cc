"""The slow twin of token features: names of features as strings, token by token, from the definitions."""

import unicodedata
from collections import Counter

from walkstep.features.expression import Bag, Conjunction

FLAGS = {
    "is_capital",
    "is_upper",
    "is_digit",
    "has_digit",
    "has_hyphen",
    "is_punctuation",
    "first",
    "last",
    "sentence_upper",
    "doc_lower_seen",
    "doc_capital_seen",
}
MANY = {"ngrams", "gazetteer", "lower_gazetteer", "doc_prev", "doc_next", "doc_phrase", "doc_shape"}


def category(character):
    return unicodedata.category(character)


def is_upper_letter(character):
    return category(character) in ("Lu", "Lt")


def is_lower_letter(character):
    return category(character) == "Ll"


def is_digit(character):
    return category(character).startswith("N")


def shape(word):
    out = ""
    for character in word:
        if is_upper_letter(character):
            out += "X"
        elif category(character)[0] in "LM":
            out += "x"
        elif is_digit(character):
            out += "d"
        else:
            out += character
    return out


def short_shape(word):
    out = ""
    for character in shape(word):
        if not out.endswith(character):
            out += character
    return out


def capital(word):
    return word != "" and is_upper_letter(word[0])


def all_capitals(words):
    letters = "".join(words)
    return any(map(is_upper_letter, letters)) and not any(map(is_lower_letter, letters))


def affix(word, n, at_end):
    if len(word) < n:
        return set()
    return {word[-n:] if at_end else word[:n]}


def ngrams(word, longest):
    marked = "<" + word + ">"
    return {marked[a:b] for a in range(len(marked)) for b in range(a + 2, len(marked) + 1) if b - a <= longest}


def flag(holds):
    return {""} if holds else set()


class Naive:
    """A corpus, answering for one token at a time."""

    def __init__(self, sequences, *, gazetteers=None, clusters=None, functions=None):
        self.sequences = sequences
        self.gazetteers, self.clusters, self.functions = gazetteers or {}, clusters or {}, functions or {}
        self.sentence_of, self.place_of, self.document_of = [], [], []
        for d in range(sequences.n_documents):
            for s in range(sequences.document_ptr[d], sequences.document_ptr[d + 1]):
                for place, _ in enumerate(sequences.sentence(s)):
                    self.sentence_of.append(s)
                    self.place_of.append(place)
                    self.document_of.append(d)

    def word(self, i):
        return self.sequences.tokens[i]

    def move(self, i, offset):
        """The token there, or how far outside the sentence it would be."""
        s = self.sentence_of[i]
        begin, end = self.sequences.sentence_ptr[s], self.sequences.sentence_ptr[s + 1]
        j = i + offset
        if j < begin:
            return None, f"<start-{begin - j}>"
        if j >= end:
            return None, f"<end+{j - end + 1}>"
        return j, ""

    def others(self, i):
        """The eight nearest other occurrences before and after."""
        same = [
            j
            for j in range(self.sequences.n_tokens)
            if self.document_of[j] == self.document_of[i] and self.word(j).lower() == self.word(i).lower()
        ]
        at = same.index(i)
        return same[max(0, at - 8) : at] + same[at + 1 : at + 9]

    def occurrences(self, i):
        return [
            j
            for j in range(self.sequences.n_tokens)
            if self.document_of[j] == self.document_of[i] and self.word(j).lower() == self.word(i).lower()
        ]

    def covered(self, i, fold):
        """The lists that cover the token, and how."""
        words = [fold(word) for word in self.sequences.sentence(self.sentence_of[i])]
        found = set()
        for name, phrases in self.gazetteers.items():
            wanted = {tuple(map(fold, phrase.split())) for phrase in phrases}
            at = 0
            while at < len(words):
                ends = [end for end in range(at + 1, len(words) + 1) if tuple(words[at:end]) in wanted]
                if not ends:
                    at += 1
                    continue
                if at <= self.place_of[i] < ends[-1]:
                    if ends[-1] - at == 1:
                        place = "U"
                    elif self.place_of[i] == at:
                        place = "B"
                    else:
                        place = "L" if self.place_of[i] == ends[-1] - 1 else "I"
                    found.add(f"{place}-{name}")
                at = ends[-1]
        return found

    def values(self, name, argument, i):
        """The set of a property's texts at a token."""
        word = self.word(i)
        if name == "word":
            return {word}
        if name == "lower":
            return {word.lower()}
        if name == "shape":
            return {shape(word)}
        if name == "short_shape":
            return {short_shape(word)}
        if name in ("prefix", "suffix"):
            return affix(word, argument, name == "suffix")
        if name in ("lower_prefix", "lower_suffix"):
            return affix(word.lower(), argument, name == "lower_suffix")
        if name == "ngrams":
            return ngrams(word, argument)
        if name == "length":
            return {str(len(word))}
        if name == "is_capital":
            return flag(capital(word))
        if name == "is_upper":
            return flag(all_capitals([word]))
        if name == "is_digit":
            return flag(word and all(map(is_digit, word)))
        if name == "has_digit":
            return flag(any(map(is_digit, word)))
        if name == "has_hyphen":
            return flag(any(category(c) == "Pd" for c in word))
        if name == "is_punctuation":
            return flag(word and all(category(c)[0] in "PS" for c in word))
        if name == "first":
            return flag(self.place_of[i] == 0)
        if name == "last":
            return flag(self.move(i, 1)[0] is None)
        if name == "sentence_upper":
            return flag(all_capitals(self.sequences.sentence(self.sentence_of[i])))
        if name == "cluster":
            bits = self.clusters.get(word)
            return {bits[:argument]} if bits else set()
        if name == "gazetteer":
            return self.covered(i, str)
        if name == "lower_gazetteer":
            return self.covered(i, str.lower)
        if name in ("doc_prev", "doc_next"):
            if not any(capital(self.word(j)) for j in self.occurrences(i)):
                return set()
            beside = [self.move(j, -1 if name == "doc_prev" else 1)[0] for j in self.others(i)]
            return {self.word(j).lower() for j in beside if j is not None}
        if name == "doc_lower_seen":
            return flag(
                any(
                    any(map(is_lower_letter, self.word(j))) and not any(map(is_upper_letter, self.word(j)))
                    for j in self.occurrences(i)
                )
            )
        if name == "doc_capital_seen":
            return flag(
                any(
                    capital(self.word(j))
                    and self.place_of[j] > 0
                    and not all_capitals(self.sequences.sentence(self.sentence_of[j]))
                    for j in self.occurrences(i)
                    if j != i
                )
            )
        if name == "doc_phrase":
            found = set()
            for j in self.others(i):
                for side, label in ((-1, "left"), (1, "right")):
                    k = self.move(j, side)[0]
                    if capital(word) and capital(self.word(j)) and k is not None and capital(self.word(k)):
                        found.add(f"{label}={self.word(k).lower()}")
            return found
        if name == "doc_shape":
            return {shape(self.word(j)) for j in self.others(i)}
        if name in self.functions:
            said = self.functions[name](word)
            return {said} if isinstance(said, str) else set(said)
        return {self.sequences.columns[name][i]}

    def atom_names(self, atom, i):
        """The names that one atom gives."""
        j, edge = self.move(i, atom.offset)
        if j is None:
            is_silent = atom.name in FLAGS or atom.name in MANY or atom.name in self.functions
            return set() if is_silent else {f"{atom}={edge}"}
        texts = self.values(atom.name, atom.argument, j)
        return {str(atom) if atom.name in FLAGS else f"{atom}={text}" for text in texts}

    def names(self, expression, i):
        """The names that one expression gives."""
        if isinstance(expression, Bag):
            places = [self.move(i, offset)[0] for offset in range(expression.first, expression.last + 1)]
            texts = {
                text for j in places if j is not None for text in self.values(expression.name, expression.argument, j)
            }
            return {str(expression) if expression.name in FLAGS else f"{expression}={text}" for text in texts}
        if isinstance(expression, Conjunction):
            joined = {""}
            for part in expression.parts:
                found = self.atom_names(part, i)
                joined = {f"{left}&{right}" if left else right for left in joined for right in found}
            return joined
        return self.atom_names(expression, i)

    def all_names(self, expressions):
        """The set of names of every token."""
        return [
            set().union(*(self.names(expression, i) for expression in expressions))
            for i in range(self.sequences.n_tokens)
        ]


def count_names(name_sets):
    """How many tokens have each name."""
    return Counter(name for names in name_sets for name in names)
