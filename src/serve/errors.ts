/** The error answer of a request, with vLLM's body and status codes. */
export class ApiError extends Error {
  override readonly name = 'ApiError'

  constructor(
    readonly status: number,
    message: string,
    readonly options: { type?: string; param?: string; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
  }

  get body(): object {
    const { type = types[this.status] ?? 'InternalServerError', param = null } = this.options
    return { error: { message: this.message, type, param, code: this.status } }
  }
}

const types: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  408: 'RequestTimeoutError',
  409: 'ConflictError',
  413: 'PayloadTooLargeError',
  429: 'TooManyRequestsError',
  500: 'InternalServerError',
  501: 'NotImplementedError',
  502: 'BadGatewayError',
  503: 'ServiceUnavailableError',
  504: 'GatewayTimeoutError',
}

export const badRequest = (message: string, param?: string): ApiError =>
  new ApiError(400, message, param === undefined ? {} : { param })

export const unknownModel = (name: string): ApiError =>
  new ApiError(404, `The model \`${name}\` does not exist.`, { param: 'model' })

/** A body of the wrong shape; `badRequest` is for wrong values. */
export const malformed = (message: string, param?: string): ApiError =>
  new ApiError(400, message, { type: 'Bad Request', ...(param === undefined ? {} : { param }) })
