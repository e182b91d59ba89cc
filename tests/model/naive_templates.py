"""The slow twin of grounding: factors as lists of variables and names of features, pair by pair."""

from walkstep.features.expression import Atom, Bag, Conjunction
from walkstep.features.properties import PROPERTIES
from walkstep.model.conditions import And, Compare, Distance, Holds, Not, Or, SameSentence, Value


class Naive:
    def __init__(self, sequences, domains):
        self.words, self.columns = sequences.tokens, sequences.columns
        self.base = {domain.name: d * sequences.n_tokens for d, domain in enumerate(domains)}
        self.sentence, self.document = [], []
        for d in range(sequences.n_documents):
            for s in range(sequences.document_ptr[d], sequences.document_ptr[d + 1]):
                for _ in sequences.sentence(s):
                    self.sentence.append(s)
                    self.document.append(d)

    def inside(self, t, offset):
        return 0 <= t + offset < len(self.words) and self.sentence[t + offset] == self.sentence[t]

    def values(self, name, argument, t):
        if name == "first":
            return [] if self.inside(t, -1) else [""]
        if name in PROPERTIES:
            of_word = PROPERTIES[name].of_word
            assert of_word is not None
            return of_word(self.words[t], argument or 0)
        return [self.columns[name][t]]

    def look(self, value, i, j):
        t = i if value.index == "i" else j
        return self.values(value.name, value.argument, t + value.offset) if self.inside(t, value.offset) else []

    def holds(self, condition, i, j):
        match condition:
            case None:
                return True
            case And(parts):
                return all(self.holds(part, i, j) for part in parts)
            case Or(parts):
                return any(self.holds(part, i, j) for part in parts)
            case Not(part):
                return not self.holds(part, i, j)
            case Holds(value):
                return bool(self.look(value, i, j))
            case SameSentence():
                return self.sentence[i] == self.sentence[j]
            case Distance(sign, limit):
                return eval(f"{j - i} {sign} {limit}")
            case Compare(left, sign, Value() as right):
                one, other = self.look(left, i, j), self.look(right, i, j)
                if left.name in PROPERTIES and PROPERTIES[left.name].kind == "flag":
                    # beyond the edge even a flag is neither there nor not there
                    known = self.inside(i if left.index == "i" else j, left.offset)
                    known = known and self.inside(i if right.index == "i" else j, right.offset)
                    equal = known and one == other
                else:
                    equal = bool(one) and one == other
                return equal == (sign == "==")
            case Compare(left, "!=", right):
                return not self.holds(Compare(left, "==", right), i, j)
            case Compare(left, "==", str() as right):
                return right in self.look(left, i, j)
            case Compare(left, sign, right):
                return any(text.isdecimal() and eval(f"{int(text)} {sign} {right}") for text in self.look(left, i, j))
        raise AssertionError(condition)

    def scope(self, template, i, j):
        variables = []
        for site in template.scope:
            t = i if site.index == "i" else j
            if not self.inside(t, site.offset):
                return None
            variables.append(self.base[site.variable] + t + site.offset)
        return tuple(variables) if len(set(variables)) == len(variables) else None

    def names(self, feature, t):
        match feature:
            case Atom(name, offset, argument):
                known = PROPERTIES.get(name)
                if self.inside(t, offset):
                    texts = self.values(name, argument, t + offset)
                elif known is None or known.kind == "value":
                    beyond = 1
                    while not self.inside(t, offset + (beyond if offset < 0 else -beyond)):
                        beyond += 1
                    texts = [f"<start-{beyond}>" if offset < 0 else f"<end+{beyond}>"]
                else:
                    texts = []
                is_flag = known is not None and known.kind == "flag"
                return {str(feature) if is_flag else f"{feature}={text}" for text in texts}
            case Bag(name, first, last, argument):
                reached = [t + o for o in range(first, last + 1) if self.inside(t, o)]
                return {f"{feature}={text}" for r in reached for text in self.values(name, argument, r)}
            case Conjunction(parts):
                joined = {""}
                for part in parts:
                    joined = {f"{a}&{b}" if a else b for a in joined for b in self.names(part, t)}
                return joined
        raise AssertionError(feature)

    def factors(self, template):
        """Scopes with the names of their features, in order."""
        made = []
        for i in range(len(self.words)):
            if not template.joins_pairs:
                pairs = [(i, i)]
            else:
                place = self.sentence if template.within == "sentence" else self.document
                pairs = [(i, j) for j in range(i + 1, len(self.words)) if place[i] == place[j]]
            pairs = [(i, j) for i, j in pairs if self.scope(template, i, j) and self.holds(template.where, i, j)]
            for i, j in pairs[:1] if template.pairs == "next" else pairs:
                seen = [name for feature in template.features for name in self.names(feature, i)]
                seen += [f"{name} at j" for feature in template.j_features for name in self.names(feature, j)]
                made.append((self.scope(template, i, j), frozenset(seen + ["bias"] * template.has_bias)))
        return made
