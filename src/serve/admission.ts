/**
 * Admits requests. The memory of a request is known before it starts, and the sum over all requests is limited: a request that can never
 * fit is refused with 400, one that does not fit now with 429.
 */
import { ApiError, badRequest } from './errors.js'
import type { BodyAccount } from './read-body.js'
import { describeCost, megabytes, type RequestCost } from './request-cost.js'

interface AdmissionLimits {
  /** Most concurrent requests. */
  maxRequests: number
  /** Most choices of all concurrent requests. */
  maxSamples: number
  /** Memory limit of one request. */
  maxRequestBytes: number
  /** Memory limit of all requests. */
  maxTotalBytes: number
  /** Memory limit of all bodies, also those that are still arriving. */
  maxBodyBytes: number
}

/** Limit of one request: prompts times `n`. */
const maxSamplesOfRequest = 4096

/** Limits of the whole server, and how much is in use. */
export class Admission {
  requests = 0
  samples = 0
  bytes = 0
  bodyBytes = 0

  constructor(readonly limits: AdmissionLimits) {}

  /** The share of one request, until its `release`. */
  ticket(): Ticket {
    return new Ticket(this)
  }
}

const later = (message: string): ApiError => new ApiError(429, message, { headers: { 'retry-after': '1' } })

export class Ticket implements BodyAccount {
  private requests = 0
  private samples = 0
  private bytes = 0
  private bodyBytes = 0

  constructor(private readonly all: Admission) {}

  /** Reserves memory for a part of the body. */
  take(bytes: number): void {
    const { all } = this
    const limit = all.limits.maxBodyBytes
    if (all.bodyBytes + bytes > limit)
      throw later(`the bodies of all requests have ${all.bodyBytes} bytes; ${limit} is the limit`)
    all.bodyBytes += bytes
    this.bodyBytes += bytes
  }

  /** Counts the request. Called when its body is complete. */
  enter(): void {
    const { all } = this
    const { maxRequests } = all.limits
    if (all.requests >= maxRequests)
      throw later(`too many requests at once: ${all.requests} are being answered, ${maxRequests} is the limit`)
    all.requests++
    this.requests++
  }

  /** Reserves what the request needs while it runs. */
  admit(cost: RequestCost): void {
    const { all } = this
    const { maxRequestBytes, maxTotalBytes, maxSamples } = all.limits
    const ofOne = Math.min(maxSamplesOfRequest, maxSamples)
    if (cost.samples > ofOne)
      throw badRequest(`a request may have ${ofOne} choices in all, this one has ${cost.samples}.`, 'n')
    const most = Math.min(maxRequestBytes, maxTotalBytes)
    if (cost.bytes > most)
      throw badRequest(
        `this request and its answer may take ${describeCost(cost)}; the limit is ${megabytes(most)}. Ask for fewer prompts, choices, tokens (max_tokens) or log-probabilities.`,
      )
    if (all.samples + cost.samples > maxSamples)
      throw later(`${all.samples} choices are being generated; with ${cost.samples} more, ${maxSamples} is the limit`)
    if (all.bytes + cost.bytes > maxTotalBytes)
      throw later(
        `this request may take ${describeCost(cost)}; ${megabytes(all.bytes)} of ${megabytes(maxTotalBytes)} are taken by others`,
      )
    all.samples += cost.samples
    this.samples += cost.samples
    all.bytes += cost.bytes
    this.bytes += cost.bytes
  }

  /** Reserves the pixels of images and videos. */
  hold(bytes: number): void {
    const { all } = this
    const { maxRequestBytes, maxTotalBytes } = all.limits
    const most = Math.min(maxRequestBytes, maxTotalBytes)
    if (bytes > most)
      throw badRequest(
        `the images and videos of this request have ${megabytes(bytes)} of pixels; the limit is ${megabytes(most)}.`,
      )
    if (all.bytes + bytes > maxTotalBytes)
      throw later(
        `the pixels of this request take ${megabytes(bytes)}; ${megabytes(all.bytes)} of ${megabytes(maxTotalBytes)} are taken by others`,
      )
    all.bytes += bytes
    this.bytes += bytes
  }

  /** Releases everything. Can be called twice. */
  release(): void {
    this.all.requests -= this.requests
    this.all.samples -= this.samples
    this.all.bytes -= this.bytes
    this.all.bodyBytes -= this.bodyBytes
    this.requests = this.samples = this.bytes = this.bodyBytes = 0
  }
}
