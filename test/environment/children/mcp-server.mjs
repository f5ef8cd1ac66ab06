// A real MCP server over standard input and output. With --stay it ignores the end of its input, and starts a child that does so too. With
// --more FILE it has a tool more if there is the file.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const server = new McpServer({ name: 'test', version: '1' })
const add = { description: 'Adds two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }) }
server.registerTool('add', add, ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }))
const fail = { description: 'Fails.', inputSchema: z.object({}) }
server.registerTool('fail', fail, () => ({ content: [{ type: 'text', text: 'no such file' }], isError: true }))
server.registerTool('wait', { description: 'Waits.', inputSchema: z.object({}) }, () => new Promise(() => {}))
server.registerTool('die', { description: 'Ends the server.', inputSchema: z.object({}) }, () => process.exit(3))
const more = process.argv[process.argv.indexOf('--more') + 1]
if (process.argv.includes('--more') && existsSync(more)) server.registerTool('more', fail, () => ({ content: [] }))
if (process.argv.includes('--stay')) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  setInterval(() => {}, 1000)
  console.error(`child ${child.pid}`)
  const pids = { description: 'Process ids.', inputSchema: z.object({}) }
  server.registerTool('pids', pids, () => ({ content: [{ type: 'text', text: `${process.pid} ${child.pid}` }] }))
}
await server.connect(new StdioServerTransport())
