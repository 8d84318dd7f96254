"""Filtering on a Ray cluster."""

import gzip
import json
import os
import signal
import time
from io import BytesIO
from itertools import chain
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from ragsieve import InputError, score, select, split
from ragsieve.answer import Reader
from ragsieve.models.fake import OverlapPruner, ScriptedLLM
from ragsieve.run.dataframes import row, schema
from ragsieve.system import Pipeline, System
from tests.serving import Handler, served

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
cluster_filter = pytest.importorskip("ragsieve.integrations.ray")

pytestmark = pytest.mark.slow
RECORDS = [
    {"id": str(n), "question": f"Who is {n}?", "documents": [{"text": f"{n} wrote it. It rained."}]}
    for n in range(40)
]
BAD = {"id": "bad", "question": " ", "documents": []}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.shutdown()  # one that another module left
        ray.init(num_cpus=2, include_dashboard=False)
    yield
    ray.shutdown()


def system(*stages):
    """The best sentence of each question."""
    stage = Pipeline(*stages, split.Sentences(), score.Pruner(OverlapPruner()), select.TopK(1))
    return System(stage, Reader(ScriptedLLM([])))


def lines(folder, kind="part"):
    """Records of a folder's files, in order."""
    files = sorted(folder.glob(f"{kind}-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def questions(tmp_path):
    """Forty questions, one without text, and a line that is none."""
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in [*RECORDS, BAD]) + "no question")
    return path


def test_a_worker_killed_in_mid_run_loses_and_doubles_nothing(questions, tmp_path):
    """What it had not finished is done again; the results are one process's, in their order."""
    mark, output = tmp_path / "killed", tmp_path / "out"

    def dies(query, segments):
        if query.text == "Who is 20?" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return list(segments)

    count, done = cluster_filter.filter_files(
        str(questions), str(output), system(dies), label="x", actors=2, part_bytes=700
    )
    sums = [*done]
    expected = [row(system(), record) for record in [*RECORDS, BAD, {"line": "no question"}]]

    assert mark.exists()
    assert count == len(sums) == len({one["number"] for one in sums}) > 4
    assert expected == lines(output)
    assert 42 == sum(one["questions"] for one in sums)
    assert ["bad", None] == [one["record"].get("id") for one in lines(output, "bad")]
    assert "must not be blank" in lines(output, "bad")[0]["reason"]


def test_a_run_goes_on_and_does_nothing_twice(questions, tmp_path):
    """Only the part that is missing is done; another system or input is refused."""
    output = tmp_path / "out"
    options = {"label": "x", "actors": 1, "part_bytes": 1500}
    count, done = cluster_filter.filter_files(str(questions), str(output), system(), **options)
    sums, first = [*done], lines(output)
    missing = sorted(output.glob("part-*"))[1]
    missing.unlink()
    again = [*cluster_filter.filter_files(str(questions), str(output), system(), **options)[1]]

    assert first == lines(output)
    assert count - 1 == sum(one["again"] for one in again)
    assert 0 == sum(one["again"] for one in sums)
    with pytest.raises(InputError, match="made by another system or from another input"):
        cluster_filter.filter_files(
            str(questions), str(output), system(), **{**options, "label": "y"}
        )


def test_parquet_goes_in_and_out(tmp_path):
    """Files of a folder by a pattern, in row groups, with the schema of results."""
    table = pa.Table.from_pylist(RECORDS)
    for place in range(2):
        some = table.slice(20 * place, 20)
        parquet.write_table(some, tmp_path / f"{place}.parquet", row_group_size=8)
    options = {"label": "x", "actors": 1, "form": "parquet"}
    count, done = cluster_filter.filter_files(
        str(tmp_path / "*.parquet"), str(tmp_path / "out"), system(), **options
    )
    sums = [*done]
    files = sorted((tmp_path / "out").glob("part-*.parquet"))
    results = pa.concat_tables([parquet.read_table(file) for file in files])

    assert 6 == count == len(files)
    assert schema() == results.schema
    assert [row(system(), one) for one in RECORDS] == results.to_pylist()
    assert 40 == sum(one["questions"] for one in sums)


def test_a_data_set_of_ray_is_filtered():
    """As rows of the one schema."""
    results = cluster_filter.filter(ray.data.from_items(RECORDS), system(), actors=1).take_all()
    by_id = sorted(results, key=lambda one: int(one["id"]))

    assert [row(system(), one) for one in RECORDS] == by_id
    wrong = [{"actors": 0}, {"workers": 0}, {"workers": "2"}]
    for options in wrong:
        with pytest.raises(InputError, match=f"{min(options)} must be a"):
            cluster_filter.filter(ray.data.from_items(RECORDS), system(), **options)


def test_every_line_is_in_one_part(tmp_path):
    """However long lines and parts are; a packed file is one part."""
    files, _ = cluster_filter.opened(str(tmp_path))

    def found(path, size):
        parts = cluster_filter.parts_of(files, str(path), size)
        return [cluster_filter.lines_of(files, part) for part in parts]

    text = b"".join(b'{"n": %d, "x": "%s"}\n' % (n, b"x" * (n * 7 % 90)) for n in range(50))
    path, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(text))
    for ending in (text, text[:-1]):
        path.write_bytes(ending)
        for size in (1, 7, 20, 64, 1000, 10**6):
            assert text.split() == b" ".join(chain.from_iterable(found(path, size))).split()
    assert [50] == [*map(len, found(packed, 10))]


def unchunked(sent):
    """Chunks, each behind its size, up to an empty one."""
    data = b""
    while size := int(sent.readline().split(b";")[0] or b"0", 16):
        data += sent.read(size)
        sent.readline()
    return data


class Bucket(Handler):
    """The part of S3 that pyarrow's client uses, of one bucket in memory; multipart uploads too."""

    objects: dict[str, bytes]
    protocol_version = "HTTP/1.1"

    def parts(self):
        """The request's parameters, and its object."""
        url = urlsplit(self.path)
        return dict(parse_qsl(url.query)), unquote(url.path).strip("/").partition("/")[2]

    def do_GET(self):
        query, key = self.parts()
        if "list-type" in query:
            found = [k for k in sorted(self.objects) if k.startswith(query.get("prefix", ""))]
            rows = "".join(
                f"<Contents><Key>{k}</Key><Size>{len(self.objects[k])}</Size></Contents>"
                for k in found
            )
            said = f"<IsTruncated>false</IsTruncated>{rows}<KeyCount>{len(found)}</KeyCount>"
            self.send(200, f"<ListBucketResult>{said}</ListBucketResult>".encode())
        elif key and key not in self.objects:
            self.send(404, b"")
        else:
            data = self.objects.get(key, b"")
            first, _, last = self.headers.get("range", "bytes=0-")[6:].partition("-")
            part = data[int(first) : int(last) + 1 if last else None]
            self.send(206 if "range" in self.headers else 200, part)

    do_HEAD = do_GET

    def do_PUT(self):
        body, (query, key) = self.body(), self.parts()
        if source := self.headers.get("x-amz-copy-source"):
            self.objects[key] = self.objects[unquote(source).strip("/").partition("/")[2]]
            self.send(200, b"<CopyObjectResult><ETag>1</ETag></CopyObjectResult>")
            return
        self.objects[f"{query['uploadId']}" if "uploadId" in query else key] = body
        self.send(200, b"")

    def do_POST(self):
        self.body()
        _, key = self.parts()
        did, said = "Initiate", f"<UploadId>upload:{key}</UploadId>"
        if "uploads" not in self.path:  # the end of an upload, here always of one part
            self.objects[key] = self.objects.pop(f"upload:{key}")
            did, said = "Complete", "<ETag>1</ETag>"
        self.send(200, f"<{did}MultipartUploadResult>{said}</{did}MultipartUploadResult>".encode())

    def do_DELETE(self):
        self.objects.pop(self.parts()[1], None)
        self.send(204, b"")

    def body(self):
        """What was sent, without the frame of signed chunks."""
        if self.headers.get("transfer-encoding") == "chunked":
            data = unchunked(self.rfile)
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        signed = "aws-chunked" in (self.headers.get("content-encoding") or "")
        return unchunked(BytesIO(data)) if signed else data

    def send(self, status, data):
        """The data behind headers as S3 sends them."""
        self.reply(status, data, etag="1", last_modified="Tue, 01 Jan 2030 00:00:00 GMT")


@pytest.fixture
def bucket():
    """What stands behind an URL of S3 so that it is a server here, and the bucket's objects."""
    objects = {}
    handler = type("Own", (Bucket,), {"objects": objects})
    with served(handler) as url:
        host = url.removeprefix("http://")
        yield f"?scheme=http&endpoint_override={host}&region=us-east-1", objects


def test_questions_come_from_s3_and_results_go_there(bucket):
    """By pyarrow's client, from a file, a folder or a pattern; a second start finds all parts."""
    options, objects = bucket
    objects["in/a.jsonl"] = b"".join(json.dumps(one).encode() + b"\n" for one in RECORDS)
    source, *others = (f"s3://k:s@bucket/in{at}{options}" for at in ("/a.jsonl", "", "/*.jsonl"))
    arguments = {"label": "x", "actors": 1, "part_bytes": 1500}
    output = f"s3://k:s@bucket/out{options}"
    count, done = cluster_filter.filter_files(source, output, system(), **arguments)
    sums = [*done]
    again = [*cluster_filter.filter_files(source, output, system(), **arguments)[1]]
    written = [objects[key] for key in sorted(objects) if key.startswith("out/part-")]
    results = [json.loads(line) for data in written for line in data.splitlines()]

    assert [row(system(), one) for one in RECORDS] == results
    assert count == len(written) == sum(one["again"] for one in again) > 1
    for place in (source, *others):
        files, path = cluster_filter.opened(place)
        assert count == len([*cluster_filter.parts_of(files, path, 1500)])
    assert 40 == sum(one["questions"] for one in sums)


def test_stages_are_measured():
    """Seconds, segments, calls and tokens of each stage, summed over questions."""
    actor = cluster_filter.Rows(system(), False, 2)
    actor.rows(RECORDS)
    stages = cluster_filter.per_stage(actor.steps)

    assert ["Sentences", "Pruner", "TopK"] == [*stages]
    assert 40 == stages["Sentences"]["segments_in"]
    assert (80, 40) == (stages["TopK"]["segments_in"], stages["TopK"]["segments_out"])
    assert 40 == stages["Pruner"]["calls"]


def test_other_file_systems_are_fsspecs():
    """What pyarrow has no client for; what neither has is named."""
    files, path = cluster_filter.opened("memory://folder/a.jsonl")
    files.pipe_file(path, b"{}")

    assert 2 == files.size(path)
    with pytest.raises(InputError, match="cannot be opened"):
        cluster_filter.opened("nowhere://a")
