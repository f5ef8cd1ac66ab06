// Episodes over a journal on the disk, with an engine that follows a script, as a process that can be killed.
//   node episodes.mjs DIST TOKENIZER DIRECTORY EFFECT
// Every call of a tool is a line of DIRECTORY/calls: its id. The test runs `runAll` in its own process to go on.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const call = n => `<tool_call>\n{"name": "act", "arguments": {"n": ${n}}}\n</tool_call>`

/** What the policy says depends on what it read, so that a turn that is sampled again is the same one. */
const said = text => {
  const done = [...text.matchAll(/did (\d)/g)].length
  return done === 2 ? 'Done.' : call(done + 1)
}

export async function runAll({ environment, text, journal }, { tokenizerPath, directory, effect }) {
  const { defineTool, toolEnvironment, episodeRules, episodeWorld, runEpisodes } = environment
  const { z } = await import('zod')
  const tokenizer = await text.Tokenizer.load(tokenizerPath)
  const act = defineTool({
    name: 'act',
    description: 'Acts.',
    input: z.object({ n: z.number() }),
    effect,
    run: ({ n }, { id }) => {
      appendFileSync(join(directory, 'calls'), `${id}\n`)
      return `did ${n}`
    },
  })
  const world = toolEnvironment({ tools: [act], reward: () => 1 })
  const rules = await episodeRules({ environment: world, tokenizer, limits: { concurrency: 1 } })
  const [end] = [...rules.junctions.turnEndIds]
  let sampled = 0
  const answer = async request => {
    const said_ = said((await tokenizer.decode(request.promptIds)).split('Go.').at(-1))
    const ids = await tokenizer.encode(said_, { addSpecialTokens: false })
    const responseIds = Int32Array.from([...ids, end])
    sampled++
    const { id: requestId, promptId, firstSample: sample } = request
    const raw = new Float32Array(responseIds.length).fill(-1)
    const versions = [{ version: 0, start: 0, end: responseIds.length }]
    const made = { responseIds, logprobs: { raw }, versions, policyVersion: 0, finishReason: 'stop' }
    return { kind: 'completed', requestId, promptId, sample, seed: 1, promptIds: request.promptIds, ...made }
  }
  const generator = {
    maxLength: 4096,
    vocabSize: tokenizer.vocabSize,
    abort() {},
    async *generate(requests) {
      for await (const request of requests) yield await answer(request)
    },
  }
  const files = new journal.Journal(join(directory, 'journal'))
  const kept = await journal.IterationJournal.open(files, 0)
  const { signal } = new AbortController()
  const sampling = { seed: 1, maxNewTokens: 500 }
  const opened = episodeWorld(rules, { name: 'test', generator, sampling, journal: kept, signal })
  const task = { row: {}, messages: [{ role: 'user', content: 'Go.' }], label: undefined, target: undefined }
  const asked = [0, 1].map(sample => ({ task, promptId: 'row', sample }))
  const outcomes = []
  for await (const { outcome } of runEpisodes(opened, asked, { signal })) outcomes.push(outcome)
  await opened.turns.close()
  await files.close()
  const shown = (key, value) =>
    key === 'toolSeconds' ? undefined : ArrayBuffer.isView(value) ? Array.from(value) : value
  return { outcomes: JSON.stringify(outcomes, shown), sampled }
}

const [, script, dist, tokenizerPath, directory, effect] = process.argv
if (dist && script?.endsWith('episodes.mjs')) {
  const load = path => import(pathToFileURL(join(dist, path)).href)
  const rooms = {
    environment: await load('environment/index.js'),
    text: await load('text/index.js'),
    journal: { ...(await load('train/rl/iteration-journal.js')), ...(await load('run/index.js')) },
  }
  const { outcomes } = await runAll(rooms, { tokenizerPath, directory, effect })
  console.log(outcomes)
}
