/** The example of a JavaScript sandbox: scripts that want out, or want everything. */
import { describe, expect, test } from 'vitest'
import { runScript } from '../../examples/javascript-tool/javascript.js'

const text = async (code: string): Promise<string> => (await runScript(code)).content

describe('scripts', () => {
  test('what they say and what they are worth', async () => {
    expect(await text('console.log("a", 1); const x = [1, 2]; x.map(y => y * 21)')).toBe('a 1\n[21,42]')
    expect(await text('"done"')).toBe('done')
    expect(await runScript('nothing.here')).toEqual({ content: expect.stringMatching(/ReferenceError/), isError: true })
    expect(await runScript('({')).toMatchObject({ content: expect.stringMatching(/SyntaxError/), isError: true })
  })

  const hostile: Readonly<Record<string, string>> = {
    'an infinite loop': 'for (;;) {}',
    'a memory bomb': 'const all = []; for (;;) all.push("x".repeat(1e6) + all.length)',
    'a doubled text': 'let s = "x"; for (;;) s += s',
    'a recursion': 'const f = () => f(); f()',
    'a regular expression': '/^(a+)+$/.exec("a".repeat(40) + "!")',
    'a thrown proxy': 'throw new Proxy({}, { get() { for (;;) {} } })',
    'a getter that never ends': '({ get message() { for (;;) {} }, name: "x" })',
    'a toJSON that never ends': '({ toJSON() { for (;;) {} } })',
    'a long flood': 'for (;;) console.log("flood ".repeat(1000))',
    'a promise that never stops': 'const again = () => Promise.resolve().then(again); again(); for (;;) {}',
    'a sparse array': 'new Array(2 ** 32 - 1).join("x")',
    'a constructor chain': 'console.log.constructor.constructor("return process")()',
  }
  test('scripts that want everything end, and others run meanwhile and afterwards', async () => {
    const ended = await Promise.all(Object.values(hostile).map(code => runScript(code)))
    for (const { content } of ended) expect(content.length).toBeLessThan(12_000)
    for (const name of ['an infinite loop', 'a memory bomb', 'a recursion', 'a sparse array', 'a constructor chain'])
      expect(ended[Object.keys(hostile).indexOf(name)], name).toMatchObject({ isError: true })
    expect(await text('1 + 1')).toBe('2')
  }, 60_000)

  test('nothing of this process is in reach, and nothing stays from call to call', async () => {
    const names = [
      'process',
      'require',
      'fetch',
      'globalThis.process',
      'setTimeout',
      'XMLHttpRequest',
      'WebSocket',
      'std',
      'os',
    ]
    expect(await text(`[${names.map(name => `typeof ${name}`).join(', ')}].join()`)).toBe(
      names.map(() => 'undefined').join(),
    )
    expect(await text('import("node:fs").then(() => 1); 1')).not.toMatch(/fs\b.*readFile/)
    await runScript('Object.prototype.hacked = 1; Array.prototype.map = () => "hacked"; globalThis.kept = 1')
    expect(({} as { hacked?: number }).hacked).toBeUndefined()
    expect(await text('[typeof kept, typeof ({}).hacked, String([1].map(x => x))].join()')).toBe(
      'undefined,undefined,1',
    )
  })
})
