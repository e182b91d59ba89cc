from walkstep.data.demo import generate_news


def test_the_head_of_a_corpus_is_made_of_whole_documents():
    news = generate_news(60, seed=0)
    head = news.head(10)
    assert 10 <= head.n_sentences < 30
    assert head.n_sentences in news.document_ptr
    assert head.tokens == news.tokens[: head.n_tokens]
    assert head.tags == news.tags[: head.n_tokens]
    assert head.sentence(3) == news.sentence(3)


def test_the_head_of_a_short_corpus_is_all_of_it():
    news = generate_news(5, seed=0)
    assert news.head(100).tokens == news.tokens
    assert news.head(0).n_tokens == 0
