"""What a program shows on a terminal."""

import os
import pty

import case


def on_terminal(*arguments, **environment):
    """What a terminal is sent by `onefold` with these arguments."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(case.binary(), ["onefold", *arguments],
                   dict(os.environ, TERM="xterm", **environment))
    shown = b""
    try:
        while chunk := os.read(fd, 65536):
            shown += chunk
    except OSError:  # the other side is closed
        pass
    os.close(fd)
    os.waitpid(pid, 0)
    return shown.decode()
