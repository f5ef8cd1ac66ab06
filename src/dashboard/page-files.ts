/** The files of the page, read once: a request names one of them, and never a path. */
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RequestError } from './errors.js'
import type { Exchange } from './exchange.js'

/** The build puts them beside this module. */
const directory = fileURLToPath(new URL('./static', import.meta.url))

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.map': 'application/json',
}

const notBuilt =
  '<!doctype html><meta charset="utf-8"><title>Whetstone</title><p>The page is not built: run <code>npm run build</code>.</p>'

export class PageFiles {
  private constructor(private readonly files: ReadonlyMap<string, Buffer>) {}

  static async read(): Promise<PageFiles> {
    const names = await readdir(directory).catch((): string[] => [])
    const files = new Map<string, Buffer>()
    for (const name of names) if (extname(name) in types) files.set(name, await readFile(join(directory, name)))
    if (!files.has('index.html')) files.set('index.html', Buffer.from(notBuilt))
    return new PageFiles(files)
  }

  /** For a file that carries the page with it. */
  text(name: 'page.js' | 'page.css'): string {
    const bytes = this.files.get(name)
    if (!bytes) throw new Error('The page is not built. Run `npm run build`.')
    return bytes.toString()
  }

  answer(exchange: Exchange, path: string): void {
    const { method } = exchange.request
    if (method !== 'GET' && method !== 'HEAD') throw new RequestError(405, 'expected GET')
    const name = path === '/' ? 'index.html' : path.slice(1)
    const bytes = this.files.get(name)
    if (!bytes) throw new RequestError(404, 'there is no such file')
    exchange.bytes(200, bytes, { 'content-type': types[extname(name)]!, 'cache-control': 'no-cache' })
  }
}
