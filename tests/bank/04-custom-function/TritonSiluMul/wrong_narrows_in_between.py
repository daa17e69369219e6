# misconception: narrowing to the input's type between two products costs nothing
# fails: narrowed once, at the store
# message: rounded twice
@triton.jit
def product_kernel(a_ptr, gate_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """out = a * silu(gate): the forward, and the gradient of up."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(a_ptr + i, mask=mask, other=0)
    gate = tl.load(gate_ptr + i, mask=mask, other=0)
    if gate.dtype != tl.float64:
        a = a.to(tl.float32)
        gate = gate.to(tl.float32)
    silu = (gate / (1 + tl.exp(-gate))).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + i, a.to(out_ptr.dtype.element_ty) * silu, mask=mask)


@triton.jit
def slope_kernel(grad_ptr, gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    grad = tl.load(grad_ptr + i, mask=mask, other=0)
    gate = tl.load(gate_ptr + i, mask=mask, other=0)
    up = tl.load(up_ptr + i, mask=mask, other=0)
    if gate.dtype != tl.float64:
        grad = grad.to(tl.float32)
        gate = gate.to(tl.float32)
        up = up.to(tl.float32)
    sig = 1 / (1 + tl.exp(-gate))
    tl.store(out_ptr + i, grad * up * (sig + gate * sig * (1 - sig)), mask=mask)


class TritonSiluMul(torch.autograd.Function):
    @staticmethod
    def forward(gate, up):
        gate, up = gate.contiguous(), up.contiguous()
        out = gate.new_empty(gate.shape)
        product_kernel[(triton.cdiv(gate.numel(), 512),)](up, gate, out, gate.numel(), BLOCK=512)
        return out

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        shape = ctx.saved_tensors[0].shape
        gate, up, grad = (t.contiguous() for t in (*ctx.saved_tensors, grad))
        n = gate.numel()
        grad_gate = grad_up = None
        if ctx.needs_input_grad[0]:
            grad_gate = torch.empty(shape, dtype=gate.dtype, device=gate.device)
            slope_kernel[(triton.cdiv(n, 512),)](grad, gate, up, grad_gate, n, BLOCK=512)
        if ctx.needs_input_grad[1]:
            grad_up = torch.empty(shape, dtype=gate.dtype, device=gate.device)
            product_kernel[(triton.cdiv(n, 512),)](grad, gate, grad_up, n, BLOCK=512)
        return grad_gate, grad_up
