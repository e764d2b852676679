# SPDX-License-Identifier: BSD-2-Clause
"""The command line of heddle lab."""
import argparse
import os
import sys

from heddle_lab import commands, run, sims, up
from heddle_lab.errors import LabError, Refused
from heddle_lab.state import default_dir

DEFAULT_RUN_TIMEOUT_S = 60


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f'{self.prog}: {message}; see {self.prog} --help\n')


def _with_dir(parser):
    parser.add_argument('--dir', default=default_dir(), metavar='D',
                        help='the lab\'s directory (default $HEDDLE_LAB_DIR, else ./heddle-lab)')
    return parser


def parser():
    top = Parser(prog='heddle lab', description='A whole cluster on one machine over a simulated '
                 'fabric.')
    sub = top.add_subparsers(dest='verb', required=True, metavar='COMMAND', parser_class=Parser)

    p = _with_dir(sub.add_parser('up', help='start a fabric, a coordinator and shards'))
    p.add_argument('fabric', metavar='FABRIC', help='a file, or a generator such as '
                   'pgft:3:16,16,8:1,16,4:1,1,1')
    p.add_argument('--shards', type=int, default=3, metavar='N',
                   help='default 3; 0 starts a fabric alone, for other managers')
    p.add_argument('--sim', choices=list(sims.SIMS), default=sims.DEFAULT,
                   help=f'default {sims.DEFAULT}')
    p.add_argument('--domains', default='auto', metavar='auto|FILE')
    p.add_argument('--at', action='append', default=[], metavar='NAME=NODE')
    p.add_argument('--build', metavar='B', help='the build tree')
    p.add_argument('--log-level', default='info',
                   choices=['error', 'warning', 'notice', 'info', 'debug'])
    p.add_argument('--set', action='append', default=[], metavar='DAEMON.NAME=VALUE',
                   help='another setting for the coordinator\'s or the shards\' file')
    _sim_options(p)
    p.set_defaults(function=up.up)

    p = _with_dir(sub.add_parser('run', help='run a program inside the fabric'))
    p.add_argument('--at', metavar='HOST', help='node id or description (default: a free host)')
    p.add_argument('--timeout', type=float, default=DEFAULT_RUN_TIMEOUT_S, metavar='S')
    p.add_argument('--mad-log', metavar='FILE')
    p.add_argument('command', nargs=argparse.REMAINDER, metavar='-- CMD ...')
    p.set_defaults(function=run.run)

    p = _with_dir(sub.add_parser('kill', help='send a signal to a daemon'))
    p.add_argument('name', metavar='NAME')
    p.add_argument('signal', nargs='?', default='KILL', metavar='SIGNAL')
    p.set_defaults(function=commands.kill)

    p = _with_dir(sub.add_parser('start', help='start a daemon again'))
    p.add_argument('name', metavar='NAME')
    p.set_defaults(function=commands.start)

    p = _with_dir(sub.add_parser('link', help='cut or join a link'))
    p.add_argument('direction', choices=['up', 'down'])
    p.add_argument('node', metavar='NODE')
    p.add_argument('port', metavar='PORT')
    p.add_argument('--no-trap', action='store_true', help='the shards get no trap of it')
    p.set_defaults(function=commands.link)

    p = _with_dir(sub.add_parser('node', help='cut or join all links of a node'))
    p.add_argument('direction', choices=['up', 'down'])
    p.add_argument('node', metavar='NODE')
    p.add_argument('--no-trap', action='store_true', help='the shards get no trap of it')
    p.set_defaults(function=commands.node)

    p = _with_dir(sub.add_parser('loss', help='lose a share of the packets at a link'))
    p.add_argument('node', metavar='NODE')
    p.add_argument('port', metavar='PORT')
    p.add_argument('percent', metavar='PERCENT', help='0 = none any more')
    p.set_defaults(function=commands.loss)

    p = _with_dir(sub.add_parser('sim', help='a command of heddle-sim\'s own: try help'))
    p.add_argument('command', nargs=argparse.REMAINDER, metavar='COMMAND ...')
    p.set_defaults(function=commands.sim)

    p = _with_dir(sub.add_parser('status', help='the simulator, the processes, heddle status'))
    p.set_defaults(function=commands.status)

    p = _with_dir(sub.add_parser('down', help='end everything'))
    p.set_defaults(function=commands.down)
    return top


def _sim_options(parser):
    for sim in sims.SIMS.values():
        group = parser.add_argument_group(f'with --sim {sim.name}')
        for flag, more in sim.options.items():
            group.add_argument(flag, **more)


def _check_dir(directory):
    """It goes into state.json and the daemons' configurations."""
    if not directory:
        raise Refused('--dir: the name of the directory is empty')
    try:
        directory.encode('utf-8')
    except UnicodeEncodeError:
        raise Refused(f'--dir {ascii(directory)}: the name must be UTF-8') from None


def main(argv):
    options = parser().parse_args(argv[1:])
    if options.verb in ('run', 'sim') and options.command[:1] == ['--']:
        options.command = options.command[1:]
    try:
        _check_dir(options.dir)
        return options.function(options)
    except LabError as e:
        sys.stdout.flush()
        print(f'heddle lab {options.verb}: {e}', file=sys.stderr)
        return e.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os._exit(1)  # nobody reads: not even a last line
    except UnicodeEncodeError as e:
        print(f'heddle lab {options.verb}: {ascii(e.object)[:200]}: this must be UTF-8',
              file=sys.stderr)
        return 2
    except OSError as e:
        print(f'heddle lab {options.verb}: {e.filename or options.dir}: {e.strerror}',
              file=sys.stderr)
        return 1
