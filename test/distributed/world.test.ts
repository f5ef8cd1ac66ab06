import { expect, test } from 'vitest'
import { DistributedModel, RankError } from '../../src/distributed/index.js'
import { outputsFromPart } from '../../src/distributed/output-arrays.js'
import { sequencesToPart } from '../../src/distributed/sequence-arrays.js'
import { LocalModel } from '../../src/model/index.js'
import { fixture, sequences } from '../support/models.js'
import { startRanks } from '../support/ranks.js'

test('a rank is found, holds a model, computes the same, and ends when it is told to', async () => {
  const { world, children } = await startRanks(2)
  expect(world.ranks).toMatchObject([
    { rank: 0, pid: process.pid },
    { rank: 1, pid: children[0]!.process.pid, device: 'cpu' },
  ])
  const directory = fixture('qwen2')
  const [model, peer] = [world.newName('model'), world.peers[0]!]
  await peer.ask('model.load', { model, directory, options: { role: 'language' } })
  const inputs = sequences([5, 9, 2])
  const { body, arrays } = sequencesToPart(inputs)
  const command = { model, options: { entropy: true }, sequences: body }
  const answer = await peer.ask('model.score', command, { arrays })
  const own = await LocalModel.load(directory, { role: 'language' })
  expect(outputsFromPart('language', answer.arrays)).toEqual(await own.score(inputs, { entropy: true }))
  own.dispose()
  // Its errors are as if they were this process's own.
  await expect(peer.ask('model.score', { ...command, options: { temperature: 0 } }, { arrays })).rejects.toThrow(
    RangeError,
  )
  await expect(peer.ask('model.sing', {})).rejects.toThrow('there is no command "model.sing"')
  await world.close()
  expect(await children[0]!.ended).toMatchObject({ code: 0, stderr: '' })
})

test('a rank that dies ends what waits for it; a rank whose controller is gone ends', async () => {
  const { world, children } = await startRanks(3)
  const waiting = world.group.barrier()
  children[0]!.process.kill('SIGKILL')
  await expect(waiting).rejects.toThrow(/rank 1|rank 0: a collective/)
  const error = await new Promise<Error>(resolve => world.onFailure(resolve))
  expect(error).toBeInstanceOf(RankError)
  expect(error.message).toMatch(/^rank 1 \(.*, cpu, process \d+\) is gone: its connection has closed$/)
  await expect(world.peers[1]!.ask('model.dispose', {})).rejects.toThrow('rank 1')
  expect(await children[1]!.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('controller (rank 0)') })
})

test('a rank with other files is named', async () => {
  const { world } = await startRanks(2, { mistake: 'has other files' })
  const directory = fixture('qwen2')
  await expect(DistributedModel.load(world, directory, { role: 'language' })).rejects.toThrow(
    new RegExp(`^rank 1 \\(.*\\) has other weights in ${directory} than rank 0; give every machine the same files$`),
  )
  await expect(DistributedModel.load(world, directory, { role: 'value', seed: 1 })).rejects.toThrow(
    new RegExp(`^rank 1 \\(.*\\): ${directory} has no config.json$`),
  )
  await world.close()
})

test('a job that is not whole is refused by what is missing', async () => {
  await expect(startRanks(2, { limitMs: 3000, others: { job: 'another' } })).rejects.toThrow(
    'rank 1 has not joined within 3 s',
  )
  await expect(startRanks(2, { others: { rank: 5 } })).rejects.toThrow(/rank 5 .* came to a job of 2 ranks/)
  await expect(startRanks(2, { mistake: 'is of another build' })).rejects.toThrow(
    new RegExp(
      `^rank 1 \\(.*\\) is of another build: arch pdp11, rank 0 has ${process.arch}\\. Install the same versions`,
    ),
  )
})
