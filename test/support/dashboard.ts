/** A dashboard over a directory, and requests to it. */
import { request } from 'node:http'
import { expect, vi } from 'vitest'
import type { SamplesAnswer } from '../../src/dashboard/api.js'
import { Dashboard, type DashboardOptions } from '../../src/dashboard/index.js'

export interface HttpAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

export interface AskOptions {
  method?: string
  headers?: Record<string, string>
  body?: string
}

export class AskedDashboard {
  private constructor(readonly dashboard: Dashboard) {}

  static async over(
    directory: string,
    options: Pick<DashboardOptions, 'rewards' | 'stallMs'> = {},
  ): Promise<AskedDashboard> {
    return new AskedDashboard(await Dashboard.start({ directory, port: 0, ...options }))
  }

  get token(): { authorization: string } {
    return { authorization: `Bearer ${this.dashboard.token}` }
  }

  /** Over node:http, because fetch does not let a test choose Host and Origin. */
  ask(path: string, { method = 'GET', headers = {}, body }: AskOptions = {}): Promise<HttpAnswer> {
    const { port } = this.dashboard
    return new Promise((resolve, reject) => {
      const asked = request({ port, host: '127.0.0.1', path, method, headers }, response => {
        let text = ''
        response.setEncoding('utf8').on('data', part => {
          text += part
        })
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
      })
      asked.on('error', reject)
      asked.end(body)
    })
  }

  async get<T>(path: string): Promise<T> {
    const { status, text } = await this.ask(path, { headers: this.token })
    expect(status, text).toBe(200)
    return JSON.parse(text) as T
  }

  post(path: string, body: unknown): Promise<HttpAnswer> {
    const headers = { ...this.token, 'content-type': 'application/json' }
    return this.ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
  }

  async posted<T>(path: string, body: unknown): Promise<T> {
    const { status, text } = await this.post(path, body)
    expect(status, text).toBe(200)
    return JSON.parse(text) as T
  }

  /** Resolves when so many samples of a run are in the index, and nothing more is waited for. */
  async indexed(run: string, samples = 1): Promise<void> {
    const path = `/api/runs/${encodeURIComponent(run)}/samples?limit=1`
    const look = async () => {
      const { index } = await this.get<SamplesAnswer>(path)
      expect([index.state, index.samples >= samples]).toEqual(['ready', true])
    }
    await vi.waitFor(look, { timeout: 120_000 })
  }

  close(): Promise<void> {
    return this.dashboard.close()
  }
}
