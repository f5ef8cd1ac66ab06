import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Conversation, chatHelp, chatInput } from '../../src/cli/chat-commands.js'

test.each([
  ['  hello ', { kind: 'message', text: 'hello' }],
  ['', { kind: 'nothing' }],
  ['/help', { kind: 'help' }],
  ['/system Be brief.', { kind: 'system', text: 'Be brief.' }],
  ['/system', { kind: 'system', text: '' }],
  ['/retry', { kind: 'retry' }],
  ['/save my file.jsonl', { kind: 'save', text: 'my file.jsonl' }],
  ['/image a.png', { kind: 'image', paths: ['a.png'] }],
  ['/image a.png "my sign.png" one\\ more.png', { kind: 'image', paths: ['a.png', 'my sign.png', 'one more.png'] }],
  ['/video clip.gif', { kind: 'video', paths: ['clip.gif'] }],
  ['/new', { kind: 'new' }],
  ['/reset', { kind: 'new' }],
  ['/quit', { kind: 'quit' }],
  ['/exit', { kind: 'quit' }],
  ['/usr/bin is what?', { kind: 'message', text: '/usr/bin is what?' }],
])('%j is understood', (line, input) => {
  expect(chatInput(line)).toEqual(input)
})

test('what is not a command is answered with the commands', () => {
  expect(chatInput('/hepl')).toMatchObject({ kind: 'unknown', message: expect.stringContaining('/help') })
  expect(chatInput('/save')).toMatchObject({ kind: 'unknown' })
  expect(chatInput('/image')).toMatchObject({
    kind: 'unknown',
    message: '/image needs the path of a file: /image PATH.',
  })
  for (const name of ['/help', '/system', '/retry', '/image', '/video', '/save', '/new', '/quit'])
    expect(chatHelp).toContain(name)
})

test('a conversation is answered again from its last message, saved as a row, and begun anew', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chat-'))
  const path = join(folder, 'chats.jsonl')
  const conversation = new Conversation('Be brief.')
  expect(conversation.retry()).toBe(false)
  expect(await conversation.save(path)).toBe('There is nothing to save yet.')
  const [user, assistant] = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Ho' },
  ]
  conversation.messages.push(user!, assistant!)
  expect(await conversation.save(path)).toContain('appended a conversation of 2 messages')
  expect(conversation.retry()).toBe(true)
  expect(conversation.messages.at(-1)).toEqual(user)
  await conversation.save(path)
  const rows = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(rows.map(({ messages }) => messages.length)).toEqual([3, 2])
  conversation.restart()
  expect(conversation.messages).toEqual([{ role: 'system', content: 'Be brief.' }])
  await expect(conversation.save(folder)).resolves.toContain('nothing')
  rmSync(folder, { recursive: true })
})
