"""Token features the usual way, a Python loop that joins strings: about fifty a token."""

from benchmarks.measure import repeat

Sentence = list[str]


def extract(sentence: Sentence, pos: Sentence) -> list[list[str]]:
    """Feature names of every token: word, lower case, shape, affixes, part of speech, a window of two."""
    own = [_word_features(word, tag) for word, tag in zip(sentence, pos, strict=True)]
    rows = []
    for i, features in enumerate(own):
        row = ["bias"]
        row += [f"0:{name}" for name in features]
        for offset in (-2, -1, 1, 2):
            if 0 <= i + offset < len(own):
                row += [f"{offset}:{name}" for name in own[i + offset][:9]]
            else:
                row.append(f"{offset}:edge")
        if i > 0:
            row.append(f"-1|0:{sentence[i - 1].lower()}|{sentence[i].lower()}")
            row.append(f"-1|0:pos={pos[i - 1]}|{pos[i]}")
        rows.append(row)
    return rows


def _word_features(word, pos):
    lower = word.lower()
    features = [f"word={word}", f"lower={lower}", f"shape={_shape(word)}", f"pos={pos}"]
    features += [f"title={word.istitle()}", f"upper={word.isupper()}", f"digit={word.isdigit()}"]
    features += [f"suffix3={lower[-3:]}", f"prefix3={lower[:3]}"]
    features += [f"prefix{n}={lower[:n]}" for n in (1, 2, 4)]
    features += [f"suffix{n}={lower[-n:]}" for n in (1, 2, 4)]
    return features


def _shape(word):
    return "".join("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)


def tokens_per_second(sentences: list[Sentence], pos: list[Sentence], n_repeats: int = 3) -> dict:
    """Tokens per CPU-second of ``extract``, and how many features a token got on average."""
    n_tokens = sum(map(len, sentences))

    def pass_over():
        for sentence, tags in zip(sentences, pos, strict=True):
            extract(sentence, tags)

    timings = repeat(pass_over, n_repeats)
    n_features = sum(len(row) for pair in zip(sentences, pos, strict=True) for row in extract(*pair))
    return {
        "tokens_per_second": n_tokens / timings.best,
        "tokens_per_second_median": n_tokens / timings.median,
        "features_per_token": n_features / n_tokens,
    }
