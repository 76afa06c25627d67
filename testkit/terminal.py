"""Runs a command on a new terminal; arguments: rows, columns, command. Bytes pass both ways; the end of the input hangs up."""
import fcntl, os, pty, select, struct, sys, termios

rows, columns, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))
    os.execvp(command[0], command)

while True:
    ready, _, _ = select.select([0, terminal], [], [])
    try:
        if terminal in ready:
            shown = os.read(terminal, 65536)
            if not shown:
                break
            os.write(1, shown)
        if 0 in ready:
            typed = os.read(0, 65536)
            if not typed:
                break
            os.write(terminal, typed)
    except OSError:  # Linux reports so that the command has ended.
        break
os.close(terminal)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(code if code >= 0 else 128 - code)  # As a shell reports a signal.
