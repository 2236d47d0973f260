"""One gRPC call over a Unix socket with the standard library only, byte for byte as a test wants it:
for messages that our own programs would never send.

    call(path, "/onefold.v1.AdminService/ListHosts", field(15, b"from the future"))

Knows just enough of HTTP/2: one stream, headers as literals, answers only as far as DATA frames.
"""

import socket
import struct

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY = 0, 1, 3, 4, 6, 7
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4


def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A field of a message: bytes, or an int as a varint."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def _frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


def _literal(name, value):
    """A header that is neither indexed nor compressed; both shorter than 127 bytes."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


class _Reader:

    def __init__(self, connection):
        self.connection = connection

    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            if not more:
                raise ConnectionError("hung up")
            data += more
        return data

    def frame(self):
        head = self.exactly(9)
        size = int.from_bytes(head[:3], "big")
        return head[3], head[4], self.exactly(size)


def call(path, method, message, seconds=20):
    """The answer's message, or None if the call failed."""
    headers = b"".join(_literal(name, value) for name, value in (
        (":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost"),
        ("te", "trailers"), ("content-type", "application/grpc")))
    body = b"\x00" + struct.pack(">I", len(message)) + message
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(path)
        connection.sendall(_PREFACE + _frame(_SETTINGS, 0, 0, b"")
                           + _frame(_HEADERS, _END_HEADERS, 1, headers)
                           + _frame(_DATA, _END_STREAM, 1, body))
        reader = _Reader(connection)
        answer = b""
        while True:
            kind, flags, payload = reader.frame()
            if kind == _SETTINGS and not flags & _ACK:
                connection.sendall(_frame(_SETTINGS, _ACK, 0, b""))
            elif kind == _PING and not flags & _ACK:
                connection.sendall(_frame(_PING, _ACK, 0, payload))
            elif kind == _DATA:
                answer += payload
            elif kind in (_RST_STREAM, _GOAWAY):
                return None
            if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
                break
    if len(answer) < 5:
        return None
    size = struct.unpack(">I", answer[1:5])[0]
    return answer[5:5 + size]
