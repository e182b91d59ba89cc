"""What a mention's words say about it: lexical head, mention type, gender, number, determiner.

Simple English rules. Part-of-speech tags (Penn) and dependency heads are used where they are given.
"""

from collections.abc import Sequence

MENTION_TYPES = ("proper", "common", "pronoun")
GENDERS = ("unknown", "masculine", "feminine", "neuter")
NUMBERS = ("unknown", "singular", "plural")
DETERMINERS = ("none", "definite", "indefinite", "demonstrative", "possessive")


def word_set(text: str) -> frozenset[str]:
    """A set of words that reads as a line of text."""
    return frozenset(text.split())


_MASCULINE_PRONOUNS = word_set("he him his himself")
_FEMININE_PRONOUNS = word_set("she her hers herself")
_NEUTER_PRONOUNS = word_set("it its itself which what")
_SINGULAR_PRONOUNS = (
    _MASCULINE_PRONOUNS
    | _FEMININE_PRONOUNS
    | word_set(
        "i me my mine myself it its itself this that yourself one someone somebody anyone everyone nobody thyself "
        "something anything everything nothing another each"
    )
)
_PLURAL_PRONOUNS = word_set(
    "we us our ours ourselves they them their theirs themselves these those yourselves both many few several"
)
_PRONOUNS = (
    _SINGULAR_PRONOUNS
    | _PLURAL_PRONOUNS
    | word_set("you your yours thou thee thy thine ye who whom whose which what 'em 's")
)
_MASCULINE_WORDS = word_set(
    "mr mr. mister sir lord king prince duke count baron master father dad papa grandfather uncle nephew brother "
    "son husband man men boy boys gentleman gentlemen guy fellow lad monk priest captain widower actor waiter "
    "bishop god emperor monsieur herr don"
)
_FEMININE_WORDS = word_set(
    "mrs mrs. ms ms. miss madam madame lady queen princess duchess countess baroness mistress mother mom mum mama "
    "grandmother aunt niece sister daughter wife woman women girl girls nun widow actress waitress goddess "
    "empress mademoiselle frau"
)
_MASCULINE_NAMES = word_set(
    "john james william george charles henry thomas robert edward joseph richard david peter paul michael daniel "
    "samuel frank fred frederick arthur harry jack tom bill bob jim joe sam dick ned will ben benjamin philip andrew "
    "martin stephen steven mark luke matthew simon walter albert alfred ernest edmund edgar hugh hugo ralph oliver "
    "roger francis patrick lewis louis isaac abraham jacob adam alexander alex anthony antony oscar victor gilbert "
    "leonard lawrence nicholas nick christopher chris brian kevin gary eric donald kenneth jeff jeffrey scott gregory "
    "larry jerry dennis douglas roy carl karl ryan jason justin tim timothy tony steve mike dave dan max leo otto "
    "emil hans pierre jean juan carlos pedro antonio marco giovanni ivan boris vladimir muhammad mohammed ahmed ali "
    "silas jonathan nathaniel nathan eugene rodney reginald cecil percy harold herbert howard stanley barack"
)
_FEMININE_NAMES = word_set(
    "mary anna anne ann elizabeth margaret jane emma emily alice sarah susan catherine katherine kate lucy helen ellen "
    "julia maria martha rose ruth rachel rebecca laura clara charlotte caroline harriet fanny isabel isabella "
    "eleanor florence edith ethel agnes amy annie bessie betty lizzie eliza louisa louise sophia sophie eva eve grace "
    "hannah hester ida jenny jennifer jessica judith juliet kitty lydia lily mabel marian marianne marie marion "
    "matilda maud may mildred minnie molly nancy nora olivia pauline peggy phoebe polly priscilla sally sophy stella "
    "susanna sylvia theresa victoria virginia winifred barbara carol christine cynthia deborah diana dorothy "
    "gloria joan karen kathleen kim linda lisa michelle nicole pamela patricia sandra sharon shirley teresa "
    "hillary angela melissa amanda stephanie heather megan claire georgiana henrietta gertrude beatrice antonia"
)
# Their gender may be anyone's; everything else that has a type is no person.
_ANY_GENDER_TYPES = word_set("person per animal")
POSSESSIVES = word_set("my your his her its our their thy whose")
_SINGULAR_DETERMINERS = word_set("a an this that another each every one either neither")
_PLURAL_DETERMINERS = word_set("these those many few several both some two three four five six seven eight nine ten")
PREPOSITIONS = word_set(
    "of in on at by for from with to into about between among under over against through during without within "
    "near behind before after as upon like around beyond across toward towards beside above below along"
)
_CLAUSE_OPENERS = word_set("who whom whose which that where when")
_STOPPING_TAGS = word_set("IN TO , : WDT WP WP$ WRB -LRB- ( VBD VBZ VBP MD CC")
_HEAD_TAGS = word_set("NN NNS NNP NNPS PRP PRP$ CD DT WP WDT EX VBG JJ FW ADD")
_NOUN_TAGS = word_set("NN NNS NNP NNPS")
_PRONOUN_TAGS = word_set("PRP PRP$ WP WP$ WDT EX")


def find_head(
    words: Sequence[str],
    tags: Sequence[str] | None = None,
    heads: Sequence[int] | None = None,
    relations: Sequence[str] | None = None,
) -> int:
    """Which word of a mention is its lexical head.

    With dependencies it is the word that depends on one outside the mention; in a name whose parts hang on
    the first one (``flat``), the last part: the family name. Otherwise it is the last noun before
    the first preposition, comma or clause.

    Parameters
    ----------
    words : sequence of str
        The words of the mention.
    tags : sequence of str, optional
        Their Penn tags.
    heads : sequence of int, optional
        Whom each word depends on, counted like ``words``; outside of their range if outside of the mention.
    relations : sequence of str, optional
        The relation to the head.

    Returns
    -------
    int
        The place of the head in ``words``.

    Examples
    --------
    >>> find_head("the old king of Spain".split())
    2
    >>> find_head(["Ada", "Quill"], ["NNP", "NNP"], [-1, 0], ["nsubj", "flat"])
    1
    """
    if len(words) == 1:
        return 0
    if heads is not None:
        return _dependency_head(words, tags, heads, relations)
    if tags is not None:
        return _tagged_head(tags)
    stop = len(words)
    for i in range(1, len(words)):
        lower = words[i].lower()
        if lower in PREPOSITIONS or lower in _CLAUSE_OPENERS or not any(c.isalnum() for c in lower):
            # "an attorney connected with" it
            stop = i - 1 if i > 2 and words[i - 1].endswith("ed") and lower in PREPOSITIONS else i
            break
    if stop > 1 and words[stop - 1].lower() in ("'s", "’s", "'"):
        stop -= 1
    return stop - 1


def _dependency_head(
    words: Sequence[str], tags: Sequence[str] | None, heads: Sequence[int], relations: Sequence[str] | None
) -> int:
    """The word that hangs outside; of several, the first noun."""
    n = len(words)
    outside = [i for i in range(n) if not 0 <= heads[i] < n]
    if not outside:  # a cycle in the file's tree
        return n - 1
    head = outside[0]
    if tags is not None and tags[head] not in _NOUN_TAGS:
        head = next((i for i in outside if tags[i] in _NOUN_TAGS), head)
    if relations is not None:
        name = {head}
        for i in range(head + 1, n):
            if heads[i] in name and relations[i].startswith("flat") and (tags is None or tags[i] in _NOUN_TAGS):
                name.add(i)
        head = max(name)
    return head


def _tagged_head(tags: Sequence[str]) -> int:
    """The last noun before anything that opens a phrase or clause of its own."""
    head = None
    for i, tag in enumerate(tags):
        if tag in _STOPPING_TAGS and head is not None:
            break
        if tag in _NOUN_TAGS or (tag in _HEAD_TAGS and (head is None or tags[head] not in _NOUN_TAGS)):
            head = i
    return len(tags) - 1 if head is None else head


def mention_type(words: Sequence[str], head: int, tags: Sequence[str] | None = None, *, opens: bool = False) -> str:
    """Whether a mention is a ``"proper"`` noun, a ``"common"`` noun or a ``"pronoun"``.

    Parameters
    ----------
    words, tags : sequence of str
        The words of the mention and, if known, their Penn tags.
    head : int
        The place of the head.
    opens : bool
        Whether the mention opens its sentence, where a capital tells nothing.

    Examples
    --------
    >>> mention_type(["she"], 0), mention_type(["the", "king"], 1), mention_type(["Ada"], 0, ["NNP"])
    ('pronoun', 'common', 'proper')
    """
    if tags is not None:
        if tags[head] in _PRONOUN_TAGS or (tags[head] == "DT" and len(words) == 1):
            return "pronoun"
        return "proper" if tags[head] in ("NNP", "NNPS") else "common"
    if len(words) == 1 and words[0].lower() in _PRONOUNS:
        return "pronoun"
    return "proper" if words[head][:1].isupper() and not (opens and head == 0) else "common"


def guess_gender(words: Sequence[str], head: int, kind: str, entity_type: str = "") -> str:
    """The gender that a pronoun, a title, a given name or the head noun tells; ``"neuter"`` for what is no person.

    Examples
    --------
    >>> guess_gender(["Mrs.", "Quill"], 1, "proper"), guess_gender(["Quill"], 0, "proper", "person")
    ('feminine', 'unknown')
    """
    lower = words[head].lower()
    if kind == "pronoun":
        if lower in _MASCULINE_PRONOUNS:
            return "masculine"
        if lower in _FEMININE_PRONOUNS:
            return "feminine"
        if lower in _NEUTER_PRONOUNS:
            return "neuter"
    if entity_type and entity_type.lower() not in _ANY_GENDER_TYPES:
        return "neuter"
    if kind == "pronoun":
        return "unknown"
    told = [lower] if kind == "common" else [word.lower() for word in words[: head + 1]]
    for word in told:
        if word in _MASCULINE_WORDS:
            return "masculine"
        if word in _FEMININE_WORDS:
            return "feminine"
    if kind == "proper":
        if told[0] in _MASCULINE_NAMES:
            return "masculine"
        if told[0] in _FEMININE_NAMES:
            return "feminine"
    return "unknown"


def guess_number(words: Sequence[str], head: int, kind: str, tags: Sequence[str] | None = None) -> str:
    """The number that a pronoun, the head's tag, a determiner or an ending tells.

    Examples
    --------
    >>> guess_number(["these", "roads"], 1, "common"), guess_number(["Ada", "and", "Otto"], 0, "proper")
    ('plural', 'plural')
    """
    lower = words[head].lower()
    if kind == "pronoun":
        if lower in _SINGULAR_PRONOUNS:
            return "singular"
        return "plural" if lower in _PLURAL_PRONOUNS else "unknown"
    if _is_coordinated(words):
        return "plural"
    if tags is not None and tags[head] in _NOUN_TAGS:
        return "plural" if tags[head].endswith("S") else "singular"
    first = words[0].lower()
    if len(words) > 1 and first in _SINGULAR_DETERMINERS:
        return "singular"
    if first in _PLURAL_DETERMINERS:
        return "plural"
    if kind == "common" and (lower in ("men", "women", "people", "children") or _has_plural_ending(lower)):
        return "plural"
    return "singular"


def _is_coordinated(words: Sequence[str]) -> bool:
    """Whether "and" joins parts of the mention before any preposition or clause begins."""
    for i, word in enumerate(words):
        lower = word.lower()
        if lower == "and" and 0 < i < len(words) - 1:
            return True
        if lower in PREPOSITIONS or lower in _CLAUSE_OPENERS:
            return False
    return False


def _has_plural_ending(lower: str) -> bool:
    """Whether a noun ends as plurals do."""
    return len(lower) > 3 and lower.endswith("s") and not lower.endswith(("ss", "us", "is"))


def determiner(words: Sequence[str]) -> str:
    """The kind of determiner a mention begins with, one of `DETERMINERS`.

    Examples
    --------
    >>> [determiner(text.split()) for text in ("the king", "a king", "that king", "her king", "kings")]
    ['definite', 'indefinite', 'demonstrative', 'possessive', 'none']
    """
    first = words[0].lower()
    if first in ("this", "that", "these", "those"):
        return "demonstrative"
    if len(words) == 1:
        return "none"
    if first == "the":
        return "definite"
    if first in ("a", "an", "another", "some", "any"):
        return "indefinite"
    return "possessive" if first in POSSESSIVES else "none"
