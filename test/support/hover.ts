/** What an editor shows of a place in a TypeScript file, asked from the language server of the compiler. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { repository } from './compiled.js'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly result?: unknown
}

/** The texts at the first places of these words, in a file of a project. */
export async function hoverTexts(project: string, file: string, words: readonly string[]): Promise<string[]> {
  const tsc = join(repository, 'node_modules/typescript/bin/tsc')
  const child = spawn(process.execPath, [tsc, '--lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'], cwd: project })
  const waiting = new Map<number, (message: Message) => void>()
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  let buffer = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk])
    for (;;) {
      const end = buffer.indexOf('\r\n\r\n')
      const length = Number(/Content-Length: (\d+)/i.exec(buffer.toString('utf8', 0, Math.max(end, 0)))?.[1])
      if (end < 0 || buffer.length < end + 4 + length) return
      const message = JSON.parse(buffer.toString('utf8', end + 4, end + 4 + length)) as Message
      buffer = buffer.subarray(end + 4 + length)
      // The server asks for settings and such: it has none here.
      if (message.id !== undefined && message.method !== undefined) send({ id: message.id, result: null })
      else if (message.id !== undefined) waiting.get(message.id)?.(message)
    }
  })
  let last = 0
  const ask = (method: string, params: object): Promise<Message> =>
    new Promise(resolve => {
      waiting.set(++last, resolve)
      send({ id: last, method, params })
    })
  try {
    await ask('initialize', { processId: process.pid, rootUri: pathToFileURL(project).href, capabilities: {} })
    send({ method: 'initialized', params: {} })
    const text = readFileSync(join(project, file), 'utf8')
    const uri = pathToFileURL(join(project, file)).href
    send({
      method: 'textDocument/didOpen',
      params: { textDocument: { uri, languageId: 'typescript', version: 1, text } },
    })
    const texts: string[] = []
    for (const word of words) {
      const at = text.indexOf(word)
      const line = text.slice(0, at).split('\n').length - 1
      const position = { line, character: at - text.lastIndexOf('\n', at) - 1 }
      const { result } = await ask('textDocument/hover', { textDocument: { uri }, position })
      texts.push(JSON.stringify(result))
    }
    return texts
  } finally {
    child.kill()
  }
}
