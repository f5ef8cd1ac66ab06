/** Iterations whose rewards all fail: servers are waited for, then the run stops with the reward's error and loses nothing. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { RewardsLostError } from '../../../src/experience/index.js'
import { replayRl } from '../../../src/train/rl/index.js'
import { fresh, written } from '../../support/files.js'
import { freePort } from '../../support/reward-http.js'
import { finalWeights, metricLines, modelDirectory, promptFile, quickly, start } from '../../support/rl.js'

const model = await modelDirectory(12, { layers: 1 })
const data = promptFile(6)
const base = quickly({ model, data, nSamplesPerPrompt: 2, saveSteps: 100 })

test('the run stops with the error of the reward; mended and resumed, no sample is generated again', async () => {
  const broken = fresh('broken')
  const rewards = written(
    'reward.mjs',
    `import { existsSync } from 'node:fs'
export default ({ response }) => {
  if (existsSync(${JSON.stringify(broken)})) throw new Error('no reward today')
  return [...response].filter(letter => 'aeiou'.includes(letter)).length
}
`,
  )
  const whole = fresh('run')
  await start({ ...base, rewards, output: whole })

  const output = fresh('run')
  await start({ ...base, rewards, output, iterations: 1 })
  await writeFile(broken, '')
  const failed = start({ ...base, rewards, output }, { resume: true })
  await expect(failed).rejects.toThrow(RewardsLostError)
  await expect(failed).rejects.toThrow(/no sample has a reward: all 8 failed\..*\(threw\): Error: no reward today/)
  expect(await readFile(join(output, 'logs', 'events.jsonl'), 'utf8')).toContain('no reward today')

  await rm(broken)
  const { outcome, step } = await start({ ...base, rewards, output }, { resume: true })
  expect({ outcome, step }).toEqual({ outcome: 'finished', step: 3 })
  const reused = (await metricLines(output)).map(({ values }) => values['samples/reused'])
  expect(reused).toEqual([0, 8, 0])
  // As if the reward had never failed.
  expect(finalWeights(output).equals(finalWeights(whole))).toBe(true)
  expect(await replayRl(output)).toMatchObject({ iterations: 3, mismatches: [] })
})

test('a reward file that was mended: its samples stay, and every reward is asked for again', async () => {
  const rewards = written('mended.mjs', 'export default ({ response }) => response.length\n')
  const output = fresh('run')
  await start({ ...base, rewards, output, iterations: 1 })
  await writeFile(rewards, `export default () => { throw new Error('not at all') }\n`)
  const again = { resume: true, allowChange: ['rewards'] }
  await expect(start({ ...base, rewards, output, iterations: 2 }, again)).rejects.toThrow(/not at all/)
  await writeFile(rewards, 'export default ({ response }) => 2 * response.length\n')
  expect(await start({ ...base, rewards, output, iterations: 2 }, again)).toMatchObject({ outcome: 'finished' })
  const [first, second] = await metricLines(output)
  expect([first!.values['samples/reused'], second!.values['samples/reused']]).toEqual([0, 8])
  expect(await replayRl(output)).toMatchObject({ iterations: 2, mismatches: [] })
})

test('what was trained before is saved, however rarely checkpoints are made', async () => {
  const rewards = written(
    'four.mjs',
    `let calls = 0
export default ({ response }) => {
  if (++calls > 4) throw new Error('four are enough')
  return response.length
}
`,
  )
  const output = fresh('run')
  await expect(start({ ...base, rewards, output })).rejects.toThrow(/four are enough/)
  expect(await readdir(join(output, 'checkpoints'))).toHaveLength(1)
})

const description = (port: number): string =>
  written('remote.yaml', `sources: { rm: { type: remote, url: 'http://127.0.0.1:${port}', retries: 1 } }\n`)

function serve(port: number): void {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      const { queries } = JSON.parse(body) as { queries: string[] }
      response.end(JSON.stringify({ rewards: queries.map(query => query.length) }))
    })
  }).listen(port, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
}

test('a reward server that is away is waited for, and nothing is lost', async () => {
  const port = await freePort()
  const output = fresh('run')
  const running = start({ ...base, rewards: description(port), output, iterations: 1, rewardPatienceMinutes: 1 })
  const events = async (): Promise<string> => readFile(join(output, 'logs', 'events.jsonl'), 'utf8').catch(() => '')
  while (!(await events()).includes('Waiting up to 1 minutes')) await new Promise(done => setTimeout(done, 20))
  serve(port)
  expect(await running).toMatchObject({ outcome: 'finished', step: 1 })
  const [line] = await metricLines(output)
  expect(line!.values).toMatchObject({ 'samples/trained': 4 })
  expect(Object.keys(line!.values).filter(name => name.startsWith('drops/'))).toEqual([])
  expect(await events()).toContain('answers again')
})

test('after rewardPatienceMinutes the run stops, and goes on when the server is back', async () => {
  const port = await freePort()
  const output = fresh('run')
  const options = { ...base, rewards: description(port), output, iterations: 1 }
  await expect(start({ ...options, rewardPatienceMinutes: 0.01 })).rejects.toThrow(
    /reward "rm" \(unreachable\): .*ECONNREFUSED/,
  )
  serve(port)
  expect(await start(options, { resume: true })).toMatchObject({ outcome: 'finished', step: 1 })
  const [line] = await metricLines(output)
  expect(line!.values['samples/reused']).toBeGreaterThanOrEqual(4)
})
