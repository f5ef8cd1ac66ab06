/**
 * A server that speaks the Hub's protocol over loopback: information of repositories, trees in pages, files of git by itself and
 * large files from a second server (the Hub's CDN is another host too), and uploads. Shapes and headers are those of the Hub.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { atEnd } from '../at-end.js'
import { type Content, etagOf, isLarge, json, refuse, sizeOf } from './hub-answers.js'
import { answerUpload } from './hub-uploads.js'

export type Files = Readonly<Record<string, string | Content>>

export interface HubRepo {
  /** By commit. */
  readonly commits: Map<string, Map<string, Content>>
  readonly refs: Map<string, string>
  /** Files are given to these tokens alone; the list of them to everybody. */
  readonly gated: readonly string[] | undefined
  /** Everything is given to these tokens alone. */
  readonly private: readonly string[] | undefined
}

export interface Asked {
  readonly method: string
  readonly path: string
  readonly host: 'hub' | 'cdn'
  readonly authorization: string | undefined
  readonly range: string | undefined
}

export class HubServer {
  readonly repos = new Map<string, HubRepo>()
  readonly asked: Asked[] = []
  /** Contents of large files by SHA-256, to be asked of the CDN. */
  readonly stored = new Map<string, Content>()
  /** The connection breaks after this many bytes of a response; what is left is how often that happens. */
  cut: { bytes: number; times: number } | undefined
  /** Answers, as long as there are any, in place of the right ones. */
  readonly busy: { status: number; headers?: Record<string, string> }[] = []
  /** Paths whose bytes are changed on their way. */
  readonly damaged = new Set<string>()
  /** Bytes a second, of large files. */
  speed = Number.POSITIVE_INFINITY
  /** Tokens that may write. */
  writers = ['hf_writer']
  endpoint = ''
  cdn = ''
  readonly #servers: Server[] = []

  static async start(): Promise<HubServer> {
    const hub = new HubServer()
    hub.endpoint = await hub.#listen('hub')
    hub.cdn = await hub.#listen('cdn')
    atEnd(() => hub.close())
    return hub
  }

  /** What the tools of the Hub read; `home` is theirs alone. */
  env(home: string): Record<string, string> {
    return {
      HF_ENDPOINT: this.endpoint,
      HF_HOME: home,
      HF_HUB_CACHE: join(home, 'hub'),
      HF_TOKEN: '',
      HF_HUB_OFFLINE: '',
    }
  }

  add(
    name: string,
    files: Files,
    { gated, private: closed }: Partial<Pick<HubRepo, 'gated' | 'private'>> = {},
  ): string {
    this.repos.set(name, { commits: new Map(), refs: new Map(), gated, private: closed })
    return this.commit(name, files)
  }

  /** A new commit on `main`. */
  commit(name: string, files: Files): string {
    const repo = this.repos.get(name)!
    const contents = new Map(
      Object.entries(files).map(([path, text]) => [path, typeof text === 'string' ? Buffer.from(text) : text]),
    )
    const sha = createHash('sha1').update(`${name} ${repo.commits.size}`).digest('hex')
    for (const [path, content] of contents) if (isLarge(path, content)) this.stored.set(etagOf(path, content), content)
    repo.commits.set(sha, contents)
    repo.refs.set('main', sha)
    return sha
  }

  close(): void {
    for (const server of this.#servers) {
      server.closeAllConnections()
      server.close()
    }
  }

  async #listen(host: 'hub' | 'cdn'): Promise<string> {
    const server = createServer((request, response) => {
      this.asked.push({
        method: request.method!,
        path: request.url!,
        host,
        authorization: request.headers.authorization,
        range: request.headers.range,
      })
      void this.#answer(host, request, response).catch(error => {
        response.writeHead(500).end(String(error))
      })
    })
    this.#servers.push(server)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async #answer(host: 'hub' | 'cdn', request: IncomingMessage, response: ServerResponse): Promise<void> {
    const busy = this.busy.shift()
    if (busy) return void response.writeHead(busy.status, busy.headers).end()
    const url = new URL(request.url!, this.endpoint)
    if (await answerUpload(this, host, request, response)) return
    if (host === 'cdn') {
      const content = this.stored.get(url.pathname.slice(1))
      if (!content) return void response.writeHead(404).end()
      return this.#send(request, response, content, this.damaged.has(url.searchParams.get('path')!))
    }
    const info = /^\/api\/(models|datasets)\/(.+?)\/(revision|tree)\/([^/?]+)$/.exec(url.pathname)
    if (info) return this.#describe(request, response, info)
    const file = /^\/(datasets\/)?(.+?)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname)
    if (file) return this.#resolve(request, response, file)
    refuse(response, 404, 'RepoNotFound', 'Repository not found')
  }

  /** Undefined where it was refused. */
  find(request: IncomingMessage, response: ServerResponse, name: string, revision: string) {
    const token = request.headers.authorization?.replace('Bearer ', '')
    const repo = this.repos.get(name)
    if (token === 'hf_revoked')
      return void refuse(response, 401, undefined, 'Invalid credentials in Authorization header')
    // The Hub tells nobody that a private repository exists.
    if (!repo || (repo.private && !repo.private.includes(token ?? '')))
      return void refuse(response, token === undefined ? 401 : 404, 'RepoNotFound', 'Repository not found')
    const wanted = decodeURIComponent(revision)
    const sha = repo.refs.get(wanted === 'HEAD' ? 'main' : wanted) ?? wanted
    const files = repo.commits.get(sha)
    if (!files) return void refuse(response, 404, 'RevisionNotFound', `Invalid rev id: ${wanted}`)
    return { repo, sha, files, token }
  }

  #describe(request: IncomingMessage, response: ServerResponse, [, kind, id, what, revision]: RegExpExecArray) {
    const found = this.find(request, response, `${kind}/${id}`, revision!)
    if (!found) return
    const { sha, files, repo } = found
    const url = new URL(request.url!, this.endpoint)
    if (what === 'revision') {
      const siblings = [...files.keys()].map(rfilename => ({ rfilename }))
      const gated = repo.gated ? 'manual' : false
      const known = { _id: '1', id, sha, private: repo.private !== undefined, gated, downloads: 0, likes: 0, tags: [] }
      return json(response, { ...known, lastModified: '2025-01-01T00:00:00.000Z', siblings })
    }
    const entries = [...files].map(([path, content]) => {
      const size = sizeOf(content)
      const oid = isLarge(path, content) ? createHash('sha1').update(path).digest('hex') : etagOf(path, content)
      const lfs = isLarge(path, content) ? { lfs: { oid: etagOf(path, content), size, pointerSize: 134 } } : {}
      return { type: 'file', oid, size, path, ...lfs }
    })
    const folders = new Set([...files.keys()].filter(path => path.includes('/')).map(path => path.split('/')[0]!))
    const all = [...[...folders].map(path => ({ type: 'directory', oid: '0'.repeat(40), size: 0, path })), ...entries]
    // Three to a page, so that every list has several.
    const from = Number(url.searchParams.get('cursor') ?? 0)
    url.searchParams.set('cursor', String(from + 3))
    const next = from + 3 < all.length ? { link: `<${this.endpoint}${url.pathname}${url.search}>; rel="next"` } : {}
    json(response, all.slice(from, from + 3), next)
  }

  #resolve(request: IncomingMessage, response: ServerResponse, [, data, id, revision, path]: RegExpExecArray) {
    const found = this.find(request, response, `${data ? 'datasets' : 'models'}/${id}`, revision!)
    if (!found) return
    const { repo, sha, files, token } = found
    if (repo.gated && !repo.gated.includes(token ?? ''))
      return refuse(response, token === undefined ? 401 : 403, 'GatedRepo', `Access to model ${id} is restricted.`)
    const name = decodeURIComponent(path!)
    const content = files.get(name)
    response.setHeader('x-repo-commit', sha)
    if (!content) return refuse(response, 404, 'EntryNotFound', 'Entry not found')
    const etag = etagOf(name, content)
    if (!isLarge(name, content)) {
      response.setHeader('etag', `"${etag}"`)
      return this.#send(request, response, content, this.damaged.has(name))
    }
    response.setHeader('x-linked-etag', `"${etag}"`)
    response.setHeader('x-linked-size', sizeOf(content))
    const location = `${this.cdn}/${etag}?path=${encodeURIComponent(name)}&Signature=secret-of-the-cdn`
    response.writeHead(302, { location, etag: `"${etag}"`, 'content-length': 0 }).end()
  }

  #send(request: IncomingMessage, response: ServerResponse, content: Content, damage: boolean): void {
    const size = sizeOf(content)
    const asked = request.headers.range?.match(/^bytes=(\d+)-$/)?.[1]
    const from = Number(asked ?? 0)
    if (asked !== undefined && from >= size)
      return void response.writeHead(416, { 'content-range': `bytes */${size}` }).end()
    response.writeHead(asked === undefined ? 200 : 206, {
      'accept-ranges': 'bytes',
      'content-length': size - from,
      ...(asked === undefined ? {} : { 'content-range': `bytes ${from}-${size - 1}/${size}` }),
    })
    if (request.method === 'HEAD') return void response.end()
    const { cut } = this
    const last = cut && cut.times > 0 && size - from > cut.bytes ? from + cut.bytes : size
    if (cut && last < size) cut.times--
    const source = Buffer.isBuffer(content)
      ? Readable.from(pieces(content.subarray(from, last)))
      : createReadStream(content.file, { start: from, end: last - 1 })
    void this.#pump(source, response, { damage, ends: last === size })
  }

  async #pump(source: Readable, response: ServerResponse, { damage, ends }: { damage: boolean; ends: boolean }) {
    let first = true
    for await (const piece of source as AsyncIterable<Buffer>) {
      const sent = Buffer.from(piece)
      if (damage && first) sent[0] = sent[0]! ^ 1
      first = false
      if (response.destroyed) return
      if (!response.write(sent))
        await new Promise<void>(resolve => {
          const done = (): void => {
            response.off('drain', done).off('close', done)
            resolve()
          }
          response.on('drain', done).on('close', done)
        })
      if (Number.isFinite(this.speed))
        await new Promise(resolve => setTimeout(resolve, (sent.length / this.speed) * 1000))
    }
    if (ends) response.end()
    else setTimeout(() => response.destroy(), 20)
  }
}

function* pieces(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536)
}
