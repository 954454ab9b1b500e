"""Count the records of a bundle by kind: python3 read_bundle.py run.ilb"""
import collections, sys
import msgpack, zstandard

with open(sys.argv[1], "rb") as file:
    stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    kinds = collections.Counter(record["k"] for record in msgpack.Unpacker(stream, strict_map_key=False))
for kind, count in kinds.most_common():
    print(f"{count:8} {kind}")
