// Appends and checkpoints until it is killed, and says what is done: `record N`, `checkpoint N`.   node hammer-run.mjs INDEX DIRECTORY
import { writeSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , index, directory] = process.argv
const { Run } = await import(pathToFileURL(index).href)
const run = await Run.resume(directory, { command: 'rl', config: {}, origins: {}, fingerprints: {}, versions: {} })
const found = await run.latest()
const iterations = await run.journal.iterations()
let next = 0
for (const iteration of iterations)
  for (const { record } of await run.journal.read(iteration)) next = Math.max(next, record.number + 1)

for (let iteration = found?.step ?? 0; ; iteration++) {
  const numbers = Array.from({ length: 8 }, () => next++)
  await Promise.all(
    numbers.map(async number => {
      await run.journal.append(iteration, { kind: 'sample', number, values: new Float32Array(200).fill(number) })
      writeSync(1, `record ${number}\n`)
    }),
  )
  run.metrics(iteration, { 'loss/train': 1 })
  await run.checkpoint(iteration, {}, at => writeFile(join(at, 'weights'), 'w'.repeat(1000)))
  writeSync(1, `checkpoint ${iteration}\n`)
}
