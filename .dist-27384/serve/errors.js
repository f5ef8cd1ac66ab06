/** What a request is refused with: the body and the status codes of vLLM, which its clients know. */
export class ApiError extends Error {
    status;
    options;
    name = 'ApiError';
    constructor(status, message, options = {}) {
        super(message);
        this.status = status;
        this.options = options;
    }
    get body() {
        const { type = types[this.status] ?? 'InternalServerError', param = null } = this.options;
        return { error: { message: this.message, type, param, code: this.status } };
    }
}
const types = {
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
};
export const badRequest = (message, param) => new ApiError(400, message, param === undefined ? {} : { param });
export const unknownModel = (name) => new ApiError(404, `The model \`${name}\` does not exist.`, { param: 'model' });
/** A body whose shape is wrong, as opposed to one whose values are. */
export const malformed = (message, param) => new ApiError(400, message, { type: 'Bad Request', ...(param === undefined ? {} : { param }) });
//# sourceMappingURL=errors.js.map