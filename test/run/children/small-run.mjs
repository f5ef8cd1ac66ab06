// A training run without a model: its "weights" are a number that every step changes by what the journal says.
//   node small-run.mjs INDEX DIRECTORY
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const identity = { command: 'rl', config: { seed: 1 }, origins: {}, fingerprints: {}, versions: {} }

/** Begins the run or goes on with it, to its end. */
export async function smallRun(Run, directory) {
  const run = await Run.resume(directory, identity, { keepCheckpoints: 1 })
  const found = await run.latest()
  let step = found?.step ?? 0
  let weights = found ? Number(await readFile(join(found.directory, 'weights'), 'utf8')) : 1
  if (found && found.state.weights !== weights) throw new Error('the state and the files are of different checkpoints')
  while (step < 4) {
    step++
    // Two rollouts an iteration; those that are in the journal are not made again.
    const known = (await run.journal.read(step)).map(({ record }) => record.sample)
    const missing = [0, 1].filter(sample => !known.includes(sample))
    const record = sample => ({ kind: 'sample', sample, values: Float64Array.of(step * 10 + sample) })
    await Promise.all(missing.map(sample => run.journal.append(step, record(sample))))
    const records = (await run.journal.read(step)).map(located => located.record).sort((a, b) => a.sample - b.sample)
    if (records.map(({ sample }) => sample).join() !== '0,1') throw new Error(`trained on ${JSON.stringify(records)}`)
    globalThis.crashPoint?.('step')
    for (const { values } of records) weights = (weights * 31 + values[0]) % 1_000_003
    run.metrics(step, { 'loss/train': weights })
    if (step % 2 === 0) await run.checkpoint(step, { weights }, at => writeFile(join(at, 'weights'), String(weights)))
  }
  await run.close('finished')
  return weights
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , index, directory] = process.argv
  const { Run } = await import(pathToFileURL(index).href)
  console.log(await smallRun(Run, directory))
}
