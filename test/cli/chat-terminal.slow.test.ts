/** A chat as a person has it, on a pseudo-terminal. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fresh } from '../support/files.js'
import { type OnTerminal, onTerminal, terminalAbsent } from '../support/terminal.js'
import { modelDirectory } from '../support/tiny-model.js'

if (terminalAbsent) console.warn(`No chat is tried on a terminal: ${terminalAbsent}.`)

/** It never ends by itself: random weights seldom choose one token. */
const model = await modelDirectory(5, { context: 8192 })

async function chat(...flags: string[]): Promise<OnTerminal> {
  const run = onTerminal(['chat', '--model', model, '--device', 'cpu', ...flags], { columns: 200 })
  await run.waitFor(/^>$/m)
  return run
}

describe.skipIf(terminalAbsent)('a chat on a terminal', { timeout: 240_000 }, () => {
  test('commands: help, system, retry, save, quit', async () => {
    const file = fresh('chats.jsonl')
    const run = await chat('--max-new-tokens', '4')
    expect(run.shown).toContain('/help lists the commands.')
    const say = async (line: string, then: RegExp): Promise<void> => {
      run.type(`${line}\r`)
      await run.waitFor(then)
    }
    await say('/help', /\/retry +answer the last message again/)
    await say('/retry', /There is no message to answer again\.\n>$/)
    await say('/system Be brief.', /System message set; this is a new conversation\.\n>$/)
    await say('Hello', /> Hello\n[\s\S]+\n>$/)
    await say('/retry', /> \/retry\n[\s\S]+\n>$/)
    await say(`/save ${file}`, /appended a conversation of 2 messages\.\n>$/)
    await say('/hepl', /There is no command \/hepl; did you mean \/help\?/)
    run.type('/quit\r')
    expect(await run.ended).toBe(0)
    expect(run.screen.cursor.column).toBe(0)
    const [row] = readFileSync(file, 'utf8').trim().split('\n')
    const { messages } = JSON.parse(row!) as { messages: { role: string; content: string }[] }
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant'])
    expect(messages[0]!.content).toBe('Be brief.')
  })

  test('Ctrl-C stops the answer and not the chat; what was said so far stays in the conversation; a second one ends it', async () => {
    const file = fresh('chats.jsonl')
    const run = await chat('--max-new-tokens', '8000', '--ignore-eos')
    run.type('Tell me everything.\r')
    await run.waitFor(/everything\.\n[\s\S]{40}/)
    run.type('\x03')
    await run.waitFor(/everything\.\n[\s\S]{40,}\n>$/)
    run.type(`/save ${file}\r`)
    await run.waitFor(/appended a conversation of 2 messages/)
    run.type('\x03')
    expect(await run.ended).toBe(0)
    expect(run.screen.cursor.column).toBe(0)
    expect(run.screen.cursorShown).toBe(true)
  })

  test('generation_config.json of the model is honoured and said, a flag wins, and 0.7 is where both are silent', async () => {
    const silent = await chat('--max-new-tokens', '2')
    expect(silent.shown).not.toContain('generation_config.json')
    silent.type('/quit\r')
    await silent.ended
    const path = join(model, 'generation_config.json')
    const before = readFileSync(path, 'utf8')
    writeFileSync(path, JSON.stringify({ ...JSON.parse(before), temperature: 0.35, top_p: 0.8, do_sample: true }))
    const run = await chat('--max-new-tokens', '2', '--top-p', '0.9')
    expect(run.shown).toMatch(/generation_config\.json.*temperature 0\.35/)
    expect(run.shown).not.toMatch(/top_p 0\.8|top-p 0\.8/)
    run.type('\x03')
    expect(await run.ended).toBe(0)
    writeFileSync(path, before)
  })
})
