import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'
import { z } from 'zod'
import { Dashboard } from '../dashboard/index.js'
import { flagHelp, integer, readArguments, several, text, UsageError } from './flags.js'
import { endSignal } from './interrupt.js'

const flags = z.object({
  host: text('HOST', 'address to listen on; 127.0.0.1: only this machine', 'an address').default('127.0.0.1'),
  port: integer('port to listen on; 0: a free one', { min: 0, max: 65535 }).default(8420),
  rewards: several(
    'FILE',
    'reward file that samples may be scored again with, beside those of the runs; repeat for more',
  ),
  allowHost: several('NAME', 'host name that browsers may use, besides localhost and addresses; repeat for more'),
})

export const help = `Usage: whetstone dashboard [RUNS_DIR] [--port N] [options]

Serves a page over run directories: runs, curves, stages, samples and alerts, of running runs and of finished or crashed ones. From the
page, running trainings can be paused, stopped and changed. RUNS_DIR is a directory of runs or a run (default: runs); runs
one level deeper, such as the stages of a pipeline, are shown too. The command prints the address of the page with a token; everyone who
has the token can look and act.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [directory = 'runs', ...rest] = positionals
  if (rest.length > 0) throw new UsageError('expected one directory of runs')
  await giveWay()
  const { rewards = [], allowHost: allowHosts = [], host, port } = given
  const dashboard = await Dashboard.start({ directory, host, port, rewards, allowHosts }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') throw new UsageError(`--port: ${port} is in use`)
      throw error
    },
  )
  const ended = endSignal()
  console.log(dashboard.url)
  if (!existsSync(directory)) console.error(`${directory} is not there yet: runs are shown as soon as there are some`)
  else if ((await readdir(directory)).length === 0)
    console.error(`${directory} is empty: runs are shown as soon as there are some`)
  await ended
  await dashboard.close()
  return 0
}

/**
 * Trainings on this machine come first. On Linux each thread has a priority of its own: those that Node has started already, such as for
 * collecting garbage, are told too; later ones have that of the thread that starts them.
 */
async function giveWay(): Promise<void> {
  const threads = await readdir('/proc/self/task').catch(() => [])
  for (const id of [process.pid, ...threads.map(Number)])
    try {
      if (getPriority(id) < 10) setPriority(id, 10)
    } catch {
      // The thread has ended since.
    }
}
