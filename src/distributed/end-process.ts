/** The end of a process that is one of the ranks 1, 2, ... */

/**
 * Serves, and ends the process: with 0 when rank 0 has ended the job, with 1 when this rank failed or rank 0 is gone. Signals that ask
 * for an end reach rank 0 too, which finishes its step with the help of all ranks; a second one ends this process at once.
 */
export async function endingProcess(serve: () => Promise<void>): Promise<never> {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => {})
  try {
    await serve()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
  process.exit(0)
}
