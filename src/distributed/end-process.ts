/** The end of a process that is one of the ranks 1, 2, ... */

/**
 * Serves, and ends the process: with 0 when rank 0 has ended the job, with 1 when this rank failed or rank 0 is gone. Signals that ask
 * for an end reach rank 0 too, which finishes its step with the help of all ranks; a second one ends this process at once. Until `joined`
 * is called there is no rank 0 that could do so, and the first one ends it.
 */
export async function endingProcess(serve: (joined: () => void) => Promise<void>): Promise<never> {
  let alone = true
  for (const [name, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
    process.once(name, () => {
      if (alone) process.exit(code)
    })
  try {
    await serve(() => {
      alone = false
    })
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
  process.exit(0)
}
