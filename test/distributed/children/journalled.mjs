// A training whose journal has a line for each finished iteration, with the samples that it used. Started again, it goes on.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export const readJournal = directory => {
  const path = join(directory, 'journal.jsonl')
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  // A line that was being written belongs to no finished iteration.
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
}

export async function trainJournalled(model, { directory, iterations, samples }, print = () => {}) {
  const done = readJournal(directory)
  if (done.length > 0) await model.loadState(join(directory, `state-${done.length - 1}`))
  const journal = openSync(join(directory, 'journal.jsonl'), 'a')
  for (let i = done.length; i < iterations; i++) {
    const ids = Array.from({ length: samples }, (_, k) => i * samples + k)
    const sequences = ids.map(id => Int32Array.from({ length: 3 + ((7 * id) % 11) }, (_, t) => (5 * id + 3 * t) % 36))
    await model.score(sequences)
    await model.forwardBackward(sequences, outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: logprobs.map((_, t) => -0.1 * (1.5 + Math.sin(t))) })),
    )
    const { norm } = await model.step({ lr: 1e-2, clipNorm: 1, eps: 1e-4 })
    await model.saveState(join(directory, `state-${i}`))
    writeSync(journal, `${JSON.stringify({ i, samples: ids, norm })}\n`)
    fsyncSync(journal)
    print(`finished ${i}`)
  }
  closeSync(journal)
}
