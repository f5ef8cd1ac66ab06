/** The part of the Hub's protocol that takes files: repositories are made, large files go to the storage, a commit names all. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Content, json, refuse } from './hub-answers.js'
import type { HubServer } from './hub-server.js'

/** Whether the request was one of these. */
export async function answerUpload(
  hub: HubServer,
  host: 'hub' | 'cdn',
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { pathname } = new URL(request.url!, hub.endpoint)
  if (host === 'cdn') {
    if (request.method !== 'PUT') return false
    const content = await bodyOf(request)
    const sum = createHash('sha256').update(content).digest('hex')
    if (pathname !== `/upload/${sum}`) return done(() => response.writeHead(400).end('wrong checksum'))
    hub.stored.set(sum, content)
    return done(() => response.writeHead(200, { etag: `"${sum}"` }).end())
  }
  if (request.method !== 'POST') return false
  const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
  if (!hub.writers.includes(token))
    return done(() => refuse(response, token === '' ? 401 : 403, undefined, 'You need write access'))
  if (pathname === '/api/repos/create') return create(hub, request, response)
  const preupload = /^\/api\/(models|datasets)\/(.+?)\/preupload\/main$/.exec(pathname)
  if (preupload) {
    const { files } = JSON.parse(String(await bodyOf(request))) as { files: { path: string; size: number }[] }
    const modes = files.map(({ path, size }) => ({
      path,
      uploadMode: /\.(safetensors|parquet|gguf)$/.test(path) || size > 1e7 ? 'lfs' : 'regular',
      shouldIgnore: false,
    }))
    return done(() => json(response, { files: modes }))
  }
  if (pathname.endsWith('.git/info/lfs/objects/batch')) {
    const { objects } = JSON.parse(String(await bodyOf(request))) as { objects: { oid: string; size: number }[] }
    const answers = objects.map(({ oid, size }) => ({
      oid,
      size,
      ...(hub.stored.has(oid) ? {} : { actions: { upload: { href: `${hub.cdn}/upload/${oid}` } } }),
    }))
    return done(() => json(response, { transfer: 'basic', objects: answers }))
  }
  const commit = /^\/api\/(models|datasets)\/(.+?)\/commit\/main$/.exec(pathname)
  return commit ? take(hub, request, response, `${commit[1]}/${commit[2]}`) : false
}

async function create(hub: HubServer, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const made = JSON.parse(String(await bodyOf(request))) as {
    name: string
    organization: string
    type: 'model' | 'dataset'
    visibility?: string
  }
  const id = `${made.organization}/${made.name}`
  const name = `${made.type}s/${id}`
  if (hub.repos.has(name))
    return done(() => {
      response.writeHead(409, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: 'You already created this model repo', url: `${hub.endpoint}/${id}` }))
    })
  hub.add(name, { '.gitattributes': '' }, made.visibility === 'private' ? { private: hub.writers } : {})
  return done(() => json(response, { url: `${hub.endpoint}/${id}`, name: id, id: '1' }))
}

async function take(
  hub: HubServer,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
): Promise<boolean> {
  const repo = hub.repos.get(name)
  if (!repo) return done(() => refuse(response, 404, 'RepoNotFound', 'Repository not found'))
  const lines = String(await bodyOf(request))
    .trim()
    .split('\n')
  const files: Record<string, Content> = Object.fromEntries(repo.commits.get(repo.refs.get('main')!)!)
  for (const line of lines) {
    const { key, value } = JSON.parse(line) as { key: string; value: { path: string; content: string; oid: string } }
    if (key === 'deletedFile') delete files[value.path]
    if (key === 'file') files[value.path] = Buffer.from(value.content, 'base64')
    if (key === 'lfsFile') files[value.path] = hub.stored.get(value.oid)!
  }
  const sha = hub.commit(name, files)
  return done(() =>
    json(response, {
      success: true,
      commitOid: sha,
      commitUrl: `${hub.endpoint}/${name}/commit/${sha}`,
      hookOutput: '',
    }),
  )
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

function done(answer: () => void): true {
  answer()
  return true
}
