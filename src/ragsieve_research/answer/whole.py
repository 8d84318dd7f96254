"""A reader whose answer is more, or less, than its model's reply."""

from collections.abc import Generator, Sequence

from ragsieve.answer import Reader
from ragsieve.types import Answer, Query, Segment


class WholeReader(Reader):
    """A `Reader` that streams its answer as one piece: it is known when the reply is whole."""

    def stream(self, query: Query, segments: Sequence[Segment], /) -> Generator[str, None, Answer]:
        """See `ragsieve.run.concurrency.Streaming`; one piece."""
        answer = self(query, segments)
        yield answer.text
        return answer
