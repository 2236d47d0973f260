"""A network between two versions of onefold: each message of either side gets fields that the other
one has never heard of.

    newer = skew.Skew("/tmp/newer.sock", "/tmp/coordinator.sock")   # whoever dials the first …

It reads HTTP/2 just far enough: frames, and in DATA frames the messages of gRPC.
"""

import os
import socket
import threading

from raw_grpc import field

_PREFACE_BYTES = 24
_FRAME_BYTES_MAX = 16384
_DATA, _END_STREAM = 0, 1

# A number and a text, as a later minor version may add them to any message.
NEW_FIELDS = field(1900, 7) + field(1901, b"from the future")


class _Messages:
    """The DATA of one stream in one direction."""

    def __init__(self):
        self.pending = b""

    def take(self, data):
        """Returns what can be sent on, and how many messages became newer."""
        self.pending += data
        out, count = b"", 0
        while len(self.pending) >= 5:
            size = int.from_bytes(self.pending[1:5], "big")
            if len(self.pending) < 5 + size:
                break
            compressed, body = self.pending[0], self.pending[5:5 + size]
            self.pending = self.pending[5 + size:]
            if not compressed:
                body += NEW_FIELDS
                count += 1
            out += bytes([compressed]) + len(body).to_bytes(4, "big") + body
        return out, count


class Skew:

    def __init__(self, path, target):
        self.target = target
        self.message_count = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            for source, sink, skip in ((client, server, _PREFACE_BYTES), (server, client, 0)):
                threading.Thread(target=self._pump, args=(source, sink, skip), daemon=True).start()

    def _pump(self, source, sink, skip):
        try:
            with source.makefile("rb") as frames:
                sink.sendall(frames.read(skip))
                self._copy(frames, sink)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _copy(self, frames, sink):
        streams = {}
        while len(head := frames.read(9)) == 9:
            payload = frames.read(int.from_bytes(head[:3], "big"))
            if head[3] != _DATA:
                sink.sendall(head + payload)
                continue
            flags, stream = head[4], head[5:]
            payload, count = streams.setdefault(stream, _Messages()).take(payload)
            self.message_count += count
            while True:
                piece, payload = payload[:_FRAME_BYTES_MAX], payload[_FRAME_BYTES_MAX:]
                ends = flags & _END_STREAM if not payload else 0
                if piece or ends:
                    sink.sendall(len(piece).to_bytes(3, "big") + bytes([_DATA, ends]) + stream +
                                 piece)
                if not payload:
                    break


def path_beside(target):
    return os.path.join(os.path.dirname(target), "newer.sock")
